"""log(exp(a) + exp(b)), elementwise, without overflow."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, scaled, with_special
from metalbench.task.elementwise import elementwise

logaddexp = elementwise(
    "logaddexp",
    lambda a, b: mx.logaddexp(a, b),
    lambda a, b: np.logaddexp(a, b),
    baseline="mx.logaddexp",
    flops=8,
    scale=lambda a, b: 1 + np.maximum(np.abs(a), np.abs(b)),
    a=normal("rows", "cols").also(scaled(50), with_special(-math.inf)),
    b=normal("rows", "cols").also(scaled(50), with_special(-math.inf)),
)
