"""The larger of two whole numbers of 16 bits, elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers
from metalbench.task.families import elementwise

maximum_int16 = elementwise(
    "maximum_int16",
    lambda a, b: mx.maximum(a, b),
    lambda a, b: np.maximum(a, b),
    baseline="mx.maximum",
    flops=1,
    dtype="int16",
    a=integers("rows", "cols", low=-(2**15), high=2**15, dtype="int16"),
    b=integers("rows", "cols", low=-(2**15), high=2**15, dtype="int16"),
)
