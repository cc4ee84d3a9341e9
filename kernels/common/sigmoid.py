"""1 / (1 + exp(-x)), elementwise."""

import math

import mlx.core as mx
import scipy.special

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
    inputs=dict(x=normal("rows", "cols").also(with_special(math.inf, -math.inf))),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: scipy.special.expit(x),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * rows * cols",
    baseline="mx.sigmoid",
    torch=lambda torch, x: torch.sigmoid(x),
)
def sigmoid(x):
    return mx.sigmoid(x)
