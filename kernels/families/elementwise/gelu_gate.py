"""gelu(a) b, elementwise, with the tanh form of gelu: a gate."""

import numpy as np
import scipy.special
from mlx import nn

from metalbench.task import normal
from metalbench.task.families import elementwise

gelu_gate = elementwise(
    "gelu_gate",
    lambda a, b: nn.gelu_approx(a) * b,
    lambda a, b: a * b * scipy.special.expit(2 * np.sqrt(2 / np.pi) * (a + 0.044715 * a**3)),
    baseline="nn.gelu_approx(a) * b",
    flops=11,
    a=normal("rows", "cols"),
    b=normal("rows", "cols"),
)
