"""sigmoid(a) b, elementwise: a gate."""

import mlx.core as mx
import scipy.special

from metalbench.task import normal
from metalbench.task.families import elementwise

sigmoid_gate = elementwise(
    "sigmoid_gate",
    lambda a, b: mx.sigmoid(a) * b,
    lambda a, b: scipy.special.expit(a) * b,
    baseline="mx.sigmoid(a) * b",
    flops=5,
    a=normal("rows", "cols"),
    b=normal("rows", "cols"),
)
