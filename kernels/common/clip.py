"""x limited to [-1, 1], elementwise."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task, with_special


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
    inputs=dict(x=normal("rows", "cols").also(with_special(math.inf, -math.inf, math.nan))),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: np.clip(x, -1, 1),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * rows * cols",
    baseline="mx.clip",
    torch=lambda torch, x: torch.clamp(x, -1, 1),
)
def clip(x):
    return mx.clip(x, -1, 1)
