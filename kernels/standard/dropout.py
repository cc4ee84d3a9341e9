"""x / (1 - p) where the mask keeps it, else 0."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task, with_special


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
        x=normal("rows", "cols").also(with_special(math.inf)),
    ),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(p=0.5),
    oracle=lambda mask, x, p: np.where(mask, x / (1 - p), 0),
    dtypes=("float32", "float16", "bfloat16"),
    flops="rows * cols",
    baseline="mx.where(mask, x / (1 - p), 0)",
    torch=lambda torch, mask, x, p: torch.where(mask, x * (1 / (1 - p)), 0),
)
def dropout(mask, x, p):
    return mx.where(mask, x * (1 / (1 - p)), 0)
