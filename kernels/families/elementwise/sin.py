"""Sine, elementwise, of arguments up to ten thousand."""

import mlx.core as mx
import numpy as np

from metalbench.task import scaled, uniform
from metalbench.task.families import elementwise

sin = elementwise(
    "sin",
    lambda x: mx.sin(x),
    lambda x: np.sin(x),
    baseline="mx.sin",
    flops=8,
    x=uniform("rows", "cols", low=-1e4, high=1e4).also(scaled(1e-4)),
)
