"""Arc tangent, elementwise."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, with_special
from metalbench.task.families import elementwise

arctan = elementwise(
    "arctan",
    lambda x: mx.arctan(x),
    lambda x: np.arctan(x),
    baseline="mx.arctan",
    flops=10,
    x=normal("rows", "cols").also(with_special(math.inf, -math.inf)),
)
