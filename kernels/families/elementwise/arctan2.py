"""The angle of the point (b, a), elementwise, in all quadrants."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal
from metalbench.task.families import elementwise

arctan2 = elementwise(
    "arctan2",
    lambda a, b: mx.arctan2(a, b),
    lambda a, b: np.arctan2(a, b),
    baseline="mx.arctan2",
    flops=12,
    a=normal("rows", "cols"),
    b=normal("rows", "cols"),
)
