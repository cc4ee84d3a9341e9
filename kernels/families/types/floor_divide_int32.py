"""Quotients of whole numbers, rounded down, elementwise."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import integers
from metalbench.task.families import elementwise


def drawn(random, shape, values):
    """Divisors of both signs, none of them zero."""
    magnitudes = random.integers(1, 1000, shape, dtype=np.int32)
    return np.where(random.random(shape) < 0.5, -magnitudes, magnitudes)


floor_divide_int32 = elementwise(
    "floor_divide_int32",
    lambda a, b: mx.floor_divide(a, b),
    lambda a, b: np.floor_divide(a, b),
    baseline="mx.floor_divide",
    flops=4,
    dtype="int32",
    a=integers("rows", "cols", low=-(2**31), high=2**31, dtype="int32"),
    b=replace(integers("rows", "cols", low=-999, high=1000, dtype="int32"), draw=drawn),
)
