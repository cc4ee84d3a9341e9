"""Remainders of whole numbers, with the sign of the divisor, elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers
from metalbench.task.families import divisors, elementwise

remainder_int32 = elementwise(
    "remainder_int32",
    lambda a, b: mx.remainder(a, b),
    lambda a, b: np.remainder(a, b),
    baseline="mx.remainder",
    dtype="int32",
    a=integers("rows", "cols", low=-(2**31), high=2**31, dtype="int32"),
    b=divisors("rows", "cols"),
)
