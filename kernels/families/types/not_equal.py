"""Whether a and b differ, elementwise; NaN differs from all."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, normal, with_special
from metalbench.task.families import elementwise

values = normal("rows", "cols").also(with_special(math.nan, math.inf, -math.inf)).also(coarse())

not_equal = elementwise(
    "not_equal",
    lambda a, b: mx.not_equal(a, b),
    lambda a, b: np.not_equal(a, b),
    baseline="mx.not_equal",
    flops=1,
    result="bool",
    a=values,
    b=values,
)
