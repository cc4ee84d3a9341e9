"""a to the power of b, elementwise, a above zero."""

import mlx.core as mx
import numpy as np

from metalbench.task import positive, uniform
from metalbench.task.families import elementwise

power = elementwise(
    "power",
    lambda a, b: mx.power(a, b),
    lambda a, b: np.power(a, b),
    baseline="mx.power",
    flops=10,
    a=positive("rows", "cols"),
    b=uniform("rows", "cols", low=-3, high=3),
)
