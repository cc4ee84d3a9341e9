"""Cosine, elementwise, of arguments up to ten thousand."""

import mlx.core as mx
import numpy as np

from metalbench.task import scaled, uniform
from metalbench.task.families import elementwise

cos = elementwise(
    "cos",
    lambda x: mx.cos(x),
    lambda x: np.cos(x),
    baseline="mx.cos",
    flops=8,
    x=uniform("rows", "cols", low=-1e4, high=1e4).also(scaled(1e-4)),
)
