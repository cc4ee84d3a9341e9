"""Whether two truth values differ, elementwise."""

from metalbench.task import integers
from metalbench.task.families import elementwise

logical_xor = elementwise(
    "logical_xor",
    lambda a, b: a != b,
    lambda a, b: a ^ b,
    baseline="mx.not_equal",
    flops=1,
    dtype="bool",
    a=integers("rows", "cols", high=2, dtype="bool"),
    b=integers("rows", "cols", high=2, dtype="bool"),
)
