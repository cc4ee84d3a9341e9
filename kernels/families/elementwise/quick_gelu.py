"""x times the logistic function of 1.702 x, elementwise."""

import scipy.special
from mlx import nn

from metalbench.task.families import elementwise

quick_gelu = elementwise(
    "quick_gelu",
    lambda x: nn.gelu_fast_approx(x),
    lambda x: x * scipy.special.expit(1.702 * x),
    baseline="nn.gelu_fast_approx",
    flops=5,
)
