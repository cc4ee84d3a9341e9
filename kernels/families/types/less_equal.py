"""Whether a is at most b, elementwise; NaN is neither less nor equal."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, normal, with_special
from metalbench.task.families import elementwise

values = normal("rows", "cols").also(with_special(math.nan, math.inf, -math.inf)).also(coarse())

less_equal = elementwise(
    "less_equal",
    lambda a, b: mx.less_equal(a, b),
    lambda a, b: np.less_equal(a, b),
    baseline="mx.less_equal",
    flops=1,
    result="bool",
    a=values,
    b=values,
)
