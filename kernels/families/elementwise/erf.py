"""The error function, elementwise."""

import math

import mlx.core as mx
import scipy.special

from metalbench.task import normal, scaled, with_special
from metalbench.task.families import elementwise

erf = elementwise(
    "erf",
    lambda x: mx.erf(x),
    lambda x: scipy.special.erf(x),
    baseline="mx.erf",
    flops=20,
    x=normal("rows", "cols").only(
        scaled(1e-3), scaled(3), with_special(math.inf, -math.inf, math.nan)
    ),
)
