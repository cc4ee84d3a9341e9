"""Hyperbolic sine, elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, scaled
from metalbench.task.families import elementwise

sinh = elementwise(
    "sinh",
    lambda x: mx.sinh(x),
    lambda x: np.sinh(x),
    baseline="mx.sinh",
    flops=10,
    x=normal("rows", "cols").only(scaled(1e-3), scaled(2)),
)
