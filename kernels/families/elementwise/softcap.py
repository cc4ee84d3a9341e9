"""30 tanh(x / 30), elementwise: logits within bounds."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, scaled
from metalbench.task.families import elementwise

softcap = elementwise(
    "softcap",
    lambda x: 30 * mx.tanh(x / 30),
    lambda x: 30 * np.tanh(x / 30),
    baseline="30 * mx.tanh(x / 30)",
    flops=6,
    x=normal("rows", "cols").also(scaled(10)),
)
