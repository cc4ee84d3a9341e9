"""Root-mean-square normalisation of a residual sum: rms_norm(x + residual)."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def scaled_sum(x, residual, eps):
    """Rows of `x + residual` divided by their root mean square."""
    total = x + residual
    mean_square = np.einsum("rc,rc->r", total, total) / total.shape[-1]
    return total / np.sqrt(mean_square + eps)[:, None]


def magnitude(x, residual, eps):
    """The terms of the sum, in units of the root mean square."""
    total = x + residual
    mean_square = np.einsum("rc,rc->r", total, total) / total.shape[-1]
    return (np.abs(x) + np.abs(residual)) / np.sqrt(mean_square + eps)[:, None]


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
    oracle=scaled_sum,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="5 * rows * cols",
    baseline="mx.fast.rms_norm(x + residual)",
    torch=lambda torch, x, residual, eps: torch.nn.functional.rms_norm(
        x + residual, x.shape[-1:], eps=eps
    ),
)
def fused_add_rms_norm(x, residual, eps):
    return mx.fast.rms_norm(x + residual, None, eps)
