"""max(x, 0)^2, elementwise."""

import mlx.core as mx
import numpy as np
from mlx import nn

from metalbench.task.families import elementwise

relu_squared = elementwise(
    "relu_squared",
    lambda x: mx.square(nn.relu(x)),
    lambda x: np.maximum(x, 0) ** 2,
    baseline="mx.square(nn.relu)",
    flops=2,
)
