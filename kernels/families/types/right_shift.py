"""Numbers shifted to the right, elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers
from metalbench.task.families import elementwise

right_shift = elementwise(
    "right_shift",
    lambda a, b: mx.right_shift(a, b),
    lambda a, b: np.right_shift(a, b),
    baseline="mx.right_shift",
    flops=1,
    dtype="uint32",
    a=integers("rows", "cols", high=2**32),
    b=integers("rows", "cols", high=32),
)
