"""Whether either of two truth values is set, elementwise."""

import mlx.core as mx

from metalbench.task import integers
from metalbench.task.families import elementwise

logical_or = elementwise(
    "logical_or",
    lambda a, b: mx.logical_or(a, b),
    lambda a, b: a | b,
    baseline="mx.logical_or",
    flops=1,
    dtype="bool",
    a=integers("rows", "cols", high=2, dtype="bool"),
    b=integers("rows", "cols", high=2, dtype="bool"),
)
