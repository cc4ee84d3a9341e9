"""Root-mean-square normalisation over the last axis, without scale."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def scaled_rows(x, eps):
    """Rows of `x` divided by their root mean square."""
    mean_square = np.einsum("rc,rc->r", x, x) / x.shape[-1]
    return x / np.sqrt(mean_square + eps)[:, None]


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
    oracle=scaled_rows,
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * rows * cols",
    baseline="mx.fast.rms_norm",
    torch=lambda torch, x, eps: torch.nn.functional.rms_norm(x, x.shape[-1:], eps=eps),
)
def rms_norm(x, eps):
    return mx.fast.rms_norm(x, None, eps)
