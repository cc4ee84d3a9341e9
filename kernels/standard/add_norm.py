"""Layer normalisation of a residual sum: layer_norm(x + residual)."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def standardised_sum(x, residual, eps):
    """Rows of `x + residual` with mean 0 and variance 1."""
    total = x + residual
    total -= total.mean(axis=-1, keepdims=True)
    variance = np.einsum("rc,rc->r", total, total) / total.shape[-1]
    total /= np.sqrt(variance + eps)[:, None]
    return total


def magnitude(x, residual, eps):
    """The terms whose difference the result is, in units of the standard deviation."""
    total = x + residual
    terms = np.abs(x) + np.abs(residual) + np.abs(total.mean(axis=-1, keepdims=True))
    return terms / np.sqrt(total.var(axis=-1, keepdims=True) + eps)


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        decode=dict(rows=1, cols=4096),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=16384, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols"), residual=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(eps=1e-5),
    oracle=standardised_sum,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="8 * rows * cols",
    baseline="mx.fast.layer_norm(x + residual)",
    torch=lambda torch, x, residual, eps: torch.nn.functional.layer_norm(
        x + residual, x.shape[-1:], eps=eps
    ),
)
def add_norm(x, residual, eps):
    return mx.fast.layer_norm(x + residual, None, None, eps)
