"""log(1 + x), elementwise, also where x is small."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import scaled, uniform, with_special
from metalbench.task.families import elementwise

log1p = elementwise(
    "log1p",
    lambda x: mx.log1p(x),
    lambda x: np.log1p(x),
    baseline="mx.log1p",
    flops=8,
    x=uniform("rows", "cols", low=-0.99, high=4).also(
        scaled(1e-3), with_special(math.inf, math.nan)
    ),
)
