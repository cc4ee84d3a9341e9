"""a where the mask is set, else b, elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=16384, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        mask=integers("rows", "cols", high=2, dtype="bool"),
        a=normal("rows", "cols"),
        b=normal("rows", "cols"),
    ),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda mask, a, b: np.where(mask, a, b),
    dtypes=("float32", "float16", "bfloat16"),
    flops="rows * cols",
    baseline="mx.where",
    torch=lambda torch, mask, a, b: torch.where(mask, a, b),
)
def where(mask, a, b):
    return mx.where(mask, a, b)
