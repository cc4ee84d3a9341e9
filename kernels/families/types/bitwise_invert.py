"""All bits inverted, elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers
from metalbench.task.families import elementwise

bitwise_invert = elementwise(
    "bitwise_invert",
    lambda x: mx.bitwise_invert(x),
    lambda x: np.bitwise_not(x),
    baseline="mx.bitwise_invert",
    flops=1,
    dtype="uint32",
    x=integers("rows", "cols", high=2**32),
)
