"""Index of the largest element of every row; of equal ones, the first."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, output, shifted, task, tied, with_special


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        decode=dict(rows=1, cols=4096),
        vocabulary=dict(rows=1, cols=152064),
        large=dict(rows=4096, cols=4096),
        huge=dict(rows=36864, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=tied("rows", "cols").also(shifted(100), coarse(), with_special(math.inf, -math.inf))
    ),
    outputs=dict(y=output("rows", dtype="uint32")),
    oracle=lambda x: np.argmax(x, axis=-1),
    dtypes=("float32", "float16", "bfloat16"),
    flops="rows * cols",
    baseline="mx.argmax",
    torch=lambda torch, x: torch.argmax(x, dim=-1),
)
def argmax(x):
    return mx.argmax(x, axis=-1)
