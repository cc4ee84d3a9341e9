"""The larger of two, elementwise; NaN if either is."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, with_special
from metalbench.task.families import elementwise

maximum = elementwise(
    "maximum",
    lambda a, b: mx.maximum(a, b),
    lambda a, b: np.maximum(a, b),
    baseline="mx.maximum",
    flops=1,
    a=normal("rows", "cols").also(with_special(math.nan, math.inf)),
    b=normal("rows", "cols").also(with_special(math.nan, -math.inf)),
)
