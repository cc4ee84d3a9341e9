"""Whether both of two truth values are set, elementwise."""

import mlx.core as mx

from metalbench.task import integers
from metalbench.task.families import elementwise

logical_and = elementwise(
    "logical_and",
    lambda a, b: mx.logical_and(a, b),
    lambda a, b: a & b,
    baseline="mx.logical_and",
    flops=1,
    dtype="bool",
    a=integers("rows", "cols", high=2, dtype="bool"),
    b=integers("rows", "cols", high=2, dtype="bool"),
)
