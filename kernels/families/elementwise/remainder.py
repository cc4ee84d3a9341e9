"""a - b floor(a / b), elementwise: with the sign of b."""

import mlx.core as mx
import numpy as np

from metalbench.task import scaled, uniform
from metalbench.task.families import elementwise

remainder = elementwise(
    "remainder",
    lambda a, b: mx.remainder(a, b),
    lambda a, b: np.mod(a, b),
    baseline="mx.remainder",
    flops=3,
    scale=lambda a, b: np.abs(b) + 0 * a,
    a=uniform("rows", "cols", low=-20, high=20),
    b=uniform("rows", "cols", low=0.5, high=3).also(scaled(-1)),
)
