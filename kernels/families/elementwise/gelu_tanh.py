"""x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2, elementwise."""

import math

import numpy as np
import scipy.special
from mlx import nn

from metalbench.task import normal, with_special
from metalbench.task.families import elementwise

gelu_tanh = elementwise(
    "gelu_tanh",
    lambda x: nn.gelu_approx(x),
    lambda x: x * scipy.special.expit(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)),
    baseline="nn.gelu_approx",
    flops=10,
    x=normal("rows", "cols").also(with_special(math.nan)),
)
