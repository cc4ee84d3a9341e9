"""The bits that two numbers have in common, elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers
from metalbench.task.families import elementwise

bitwise_and = elementwise(
    "bitwise_and",
    lambda a, b: mx.bitwise_and(a, b),
    lambda a, b: np.bitwise_and(a, b),
    baseline="mx.bitwise_and",
    flops=1,
    dtype="uint32",
    a=integers("rows", "cols", high=2**32),
    b=integers("rows", "cols", high=2**32),
)
