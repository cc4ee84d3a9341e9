"""exp(x) - 1, elementwise, also where x is small."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import normal, scaled, with_special
from metalbench.task.families import elementwise

expm1 = elementwise(
    "expm1",
    lambda x: mx.expm1(x),
    lambda x: np.expm1(x),
    baseline="mx.expm1",
    flops=8,
    x=normal("rows", "cols").only(
        scaled(1e-3), scaled(5), with_special(math.inf, -math.inf, math.nan)
    ),
)
