"""Whether a and b are equal, elementwise; NaN is neither less nor equal."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, normal, with_special
from metalbench.task.families import elementwise

values = normal("rows", "cols").also(with_special(math.nan, math.inf, -math.inf)).also(coarse())

equal = elementwise(
    "equal",
    lambda a, b: mx.equal(a, b),
    lambda a, b: np.equal(a, b),
    baseline="mx.equal",
    flops=1,
    result="bool",
    a=values,
    b=values,
)
