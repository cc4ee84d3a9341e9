"""Inverse hyperbolic sine, elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, scaled
from metalbench.task.families import elementwise

arcsinh = elementwise(
    "arcsinh",
    lambda x: mx.arcsinh(x),
    lambda x: np.arcsinh(x),
    baseline="mx.arcsinh",
    flops=10,
    x=normal("rows", "cols").only(scaled(1e-3), scaled(1e4)),
)
