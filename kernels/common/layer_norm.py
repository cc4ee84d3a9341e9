"""Layer normalisation over the last axis, without scale and shift."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def standardised(x, eps):
    """Rows of `x` with mean 0 and variance 1, in the dtype of `x`."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.einsum("rc,rc->r", centred, centred) / x.shape[-1]
    centred /= np.sqrt(variance + eps)[:, None]
    return centred


def magnitude(x, eps):
    """The terms whose difference the result is, in units of the standard deviation."""
    mean = x.mean(axis=-1, keepdims=True)
    return (np.abs(x) + np.abs(mean)) / np.sqrt(x.var(axis=-1, keepdims=True) + eps)


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        decode=dict(rows=1, cols=4096),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=18432, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(eps=1e-5),
    oracle=standardised,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="7 * rows * cols",
    baseline="mx.fast.layer_norm",
    torch=lambda torch, x, eps: torch.nn.functional.layer_norm(x, x.shape[-1:], eps=eps),
)
def layer_norm(x, eps):
    return mx.fast.layer_norm(x, None, None, eps)
