"""Inverse hyperbolic tangent, elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import scaled, uniform
from metalbench.task.families import elementwise

arctanh = elementwise(
    "arctanh",
    lambda x: mx.arctanh(x),
    lambda x: np.arctanh(x),
    baseline="mx.arctanh",
    flops=10,
    x=uniform("rows", "cols", low=-0.99, high=0.99).also(scaled(1e-3)),
)
