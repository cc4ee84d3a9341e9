"""Whether each element is infinite."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, with_special
from metalbench.task.families import elementwise

isinf = elementwise(
    "isinf",
    lambda x: mx.isinf(x),
    lambda x: np.isinf(x),
    baseline="mx.isinf",
    flops=1,
    result="bool",
    x=normal("rows", "cols").only(
        with_special(math.nan, math.inf, -math.inf), with_special(math.nan), with_special(math.inf)
    ),
)
