"""Numbers shifted to the left, what leaves 32 bits being lost, elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers
from metalbench.task.families import elementwise

left_shift = elementwise(
    "left_shift",
    lambda a, b: mx.left_shift(a, b),
    lambda a, b: np.left_shift(a, b),
    baseline="mx.left_shift",
    flops=1,
    dtype="uint32",
    a=integers("rows", "cols", high=2**32),
    b=integers("rows", "cols", high=32),
)
