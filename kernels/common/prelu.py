"""x where it is positive, else x times its channel's slope."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=16, cols=16384),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=18432, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols"), slope=normal("cols")),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x, slope: np.where(x > 0, x, slope * x),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * rows * cols",
    baseline="mx.maximum(x, 0) + slope * mx.minimum(x, 0)",
    torch=lambda torch, x, slope: torch.where(x > 0, x, slope * x),
)
def prelu(x, slope):
    return mx.maximum(x, 0) + slope * mx.minimum(x, 0)
