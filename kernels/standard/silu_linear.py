"""Dense layer and silu: silu(x W)."""

import mlx.core as mx
import numpy as np
import scipy.special

from metalbench.task import normal, output, task


def silu_of_product(x, w):
    """silu(x W)."""
    z = x @ w
    return z * scipy.special.expit(z)


@task(
    sizes=dict(
        small=dict(rows=32, inputs=32, outputs=64),
        odd1=dict(rows=37, inputs=65, outputs=23),
        odd2=dict(rows=5, inputs=129, outputs=67),
        seed=dict(rows=1024, inputs=1024, outputs=1024),
        large=dict(rows=1024, inputs=1536, outputs=1536),
        huge=dict(rows=4096, inputs=1536, outputs=1536),
        cpu=dict(rows=256, inputs=512, outputs=512),
    ),
    headline="cpu",
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("rows", "inputs"),
        w=normal("inputs", "outputs"),
    ),
    outputs=dict(y=output("rows", "outputs")),
    oracle=silu_of_product,
    scale=lambda x, w: np.abs(x) @ np.abs(w),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * rows * inputs * outputs + 4 * rows * outputs",
    baseline="matmul, mx.sigmoid",
    torch=lambda torch, x, w: torch.nn.functional.silu(x @ w),
)
def silu_linear(x, w):
    z = x @ w
    return z * mx.sigmoid(z)
