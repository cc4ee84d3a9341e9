"""Sums of bytes that stop at 255, elementwise: blending of images."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers
from metalbench.task.families import elementwise

add_saturated_uint8 = elementwise(
    "add_saturated_uint8",
    lambda a, b: mx.minimum(a.astype(mx.uint16) + b, 255).astype(mx.uint8),
    lambda a, b: np.minimum(a.astype(np.uint16) + b, 255).astype(np.uint8),
    baseline="mx.minimum of sums in uint16",
    flops=1,
    dtype="uint8",
    a=integers("rows", "cols", high=256, dtype="uint8"),
    b=integers("rows", "cols", high=256, dtype="uint8"),
)
