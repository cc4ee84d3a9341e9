"""Square, elementwise."""

import mlx.core as mx

from metalbench.task.families import elementwise

square = elementwise(
    "square",
    lambda x: mx.square(x),
    lambda x: x * x,
    baseline="mx.square",
    flops=1,
)
