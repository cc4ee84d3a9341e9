"""-1, 0 or 1, elementwise."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, with_special
from metalbench.task.families import elementwise

sign = elementwise(
    "sign",
    lambda x: mx.sign(x),
    lambda x: np.sign(x),
    baseline="mx.sign",
    flops=1,
    x=normal("rows", "cols").also(with_special(-0.0, math.inf, -math.inf)),
)
