"""a / b, elementwise."""

import mlx.core as mx

from metalbench.task import normal, positive
from metalbench.task.families import elementwise

divide = elementwise(
    "divide",
    lambda a, b: mx.divide(a, b),
    lambda a, b: a / b,
    baseline="mx.divide",
    flops=1,
    a=normal("rows", "cols"),
    b=positive("rows", "cols"),
)
