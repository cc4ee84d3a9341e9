"""silu(a) b, elementwise: the gate of a feed-forward layer."""

import scipy.special
from mlx import nn

from metalbench.task import normal
from metalbench.task.families import elementwise

silu_gate = elementwise(
    "silu_gate",
    lambda a, b: nn.silu(a) * b,
    lambda a, b: a * scipy.special.expit(a) * b,
    baseline="nn.silu(a) * b",
    flops=5,
    a=normal("rows", "cols"),
    b=normal("rows", "cols"),
)
