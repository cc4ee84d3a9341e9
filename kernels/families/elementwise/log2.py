"""Logarithm to base 2, elementwise."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import positive, with_special
from metalbench.task.families import elementwise

log2 = elementwise(
    "log2",
    lambda x: mx.log2(x),
    lambda x: np.log2(x),
    baseline="mx.log2",
    flops=4,
    x=positive("rows", "cols").also(with_special(math.inf)),
)
