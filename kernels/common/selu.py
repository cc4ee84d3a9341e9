"""Scaled exponential linear unit, elementwise."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task, with_special

alpha = 1.6732632423543772
scale = 1.0507009873554805


def selu_of(x):
    """The function's definition, without overflow where x is large."""
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


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
    oracle=selu_of,
    dtypes=("float32", "float16", "bfloat16"),
    flops="5 * rows * cols",
    baseline="mx.expm1, mx.where",
    torch=lambda torch, x: torch.nn.functional.selu(x),
)
def selu(x):
    below = alpha * mx.expm1(x)
    return scale * mx.where(x > 0, x, below)
