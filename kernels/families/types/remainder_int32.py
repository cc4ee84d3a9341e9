"""Remainders of whole numbers, with the sign of the divisor, elementwise."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import integers
from metalbench.task.families import elementwise


def drawn(random, shape, values):
    """Divisors of both signs, none of them zero."""
    magnitudes = random.integers(1, 1000, shape, dtype=np.int32)
    return np.where(random.random(shape) < 0.5, -magnitudes, magnitudes)


remainder_int32 = elementwise(
    "remainder_int32",
    lambda a, b: mx.remainder(a, b),
    lambda a, b: np.remainder(a, b),
    baseline="mx.remainder",
    flops=4,
    dtype="int32",
    a=integers("rows", "cols", low=-(2**31), high=2**31, dtype="int32"),
    b=replace(integers("rows", "cols", low=-999, high=1000, dtype="int32"), draw=drawn),
)
