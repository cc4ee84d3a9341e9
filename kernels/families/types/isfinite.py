"""Whether each element is a finite number."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, with_special
from metalbench.task.families import elementwise

isfinite = elementwise(
    "isfinite",
    lambda x: mx.isfinite(x),
    lambda x: np.isfinite(x),
    baseline="mx.isfinite",
    flops=1,
    result="bool",
    x=normal("rows", "cols").only(
        with_special(math.nan, math.inf, -math.inf), with_special(math.nan), with_special(math.inf)
    ),
)
