"""Whether each element is not a number."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, with_special
from metalbench.task.families import elementwise

isnan = elementwise(
    "isnan",
    lambda x: mx.isnan(x),
    lambda x: np.isnan(x),
    baseline="mx.isnan",
    flops=1,
    result="bool",
    x=normal("rows", "cols").only(
        with_special(math.nan, math.inf, -math.inf), with_special(math.nan), with_special(math.inf)
    ),
)
