"""The bits that either of two numbers has, elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers
from metalbench.task.families import elementwise

bitwise_or = elementwise(
    "bitwise_or",
    lambda a, b: mx.bitwise_or(a, b),
    lambda a, b: np.bitwise_or(a, b),
    baseline="mx.bitwise_or",
    flops=1,
    dtype="uint32",
    a=integers("rows", "cols", high=2**32),
    b=integers("rows", "cols", high=2**32),
)
