"""Quotients of whole numbers, rounded down, elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers
from metalbench.task.families import divisors, elementwise

floor_divide_int32 = elementwise(
    "floor_divide_int32",
    lambda a, b: mx.floor_divide(a, b),
    lambda a, b: np.floor_divide(a, b),
    baseline="mx.floor_divide",
    dtype="int32",
    a=integers("rows", "cols", low=-(2**31), high=2**31, dtype="int32"),
    b=divisors("rows", "cols"),
)
