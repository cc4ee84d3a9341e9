"""Products of whole numbers of 64 bits, which wrap around, elementwise."""

import mlx.core as mx

from metalbench.task import integers
from metalbench.task.families import elementwise

multiply_int64 = elementwise(
    "multiply_int64",
    lambda a, b: mx.multiply(a, b),
    lambda a, b: a * b,
    baseline="mx.multiply",
    flops=1,
    dtype="int64",
    a=integers("rows", "cols", low=-(2**62), high=2**62, dtype="int64"),
    b=integers("rows", "cols", low=-(2**40), high=2**40, dtype="int64"),
)
