"""Square root, elementwise."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import positive, with_special
from metalbench.task.families import elementwise

sqrt = elementwise(
    "sqrt",
    lambda x: mx.sqrt(x),
    lambda x: np.sqrt(x),
    baseline="mx.sqrt",
    flops=1,
    x=positive("rows", "cols").also(with_special(math.inf, 0.0)),
)
