"""The inverse of the error function, elementwise."""

import mlx.core as mx
import scipy.special

from metalbench.task import scaled, uniform
from metalbench.task.families import elementwise

erfinv = elementwise(
    "erfinv",
    lambda x: mx.erfinv(x),
    lambda x: scipy.special.erfinv(x),
    baseline="mx.erfinv",
    flops=20,
    x=uniform("rows", "cols", low=-0.999, high=0.999).also(scaled(1e-3)),
)
