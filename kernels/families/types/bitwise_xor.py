"""The bits in which two numbers differ, elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers
from metalbench.task.families import elementwise

bitwise_xor = elementwise(
    "bitwise_xor",
    lambda a, b: mx.bitwise_xor(a, b),
    lambda a, b: np.bitwise_xor(a, b),
    baseline="mx.bitwise_xor",
    flops=1,
    dtype="uint32",
    a=integers("rows", "cols", high=2**32),
    b=integers("rows", "cols", high=2**32),
)
