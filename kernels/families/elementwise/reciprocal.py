"""1 / x, elementwise."""

import math

import mlx.core as mx

from metalbench.task import positive, with_special
from metalbench.task.families import elementwise

reciprocal = elementwise(
    "reciprocal",
    lambda x: mx.reciprocal(x),
    lambda x: 1 / x,
    baseline="mx.reciprocal",
    flops=1,
    x=positive("rows", "cols").also(with_special(math.inf)),
)
