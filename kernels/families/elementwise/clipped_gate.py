"""a sigmoid(1.702 a) (b + 1), both limited to 7, elementwise: the gate of GPT-OSS."""

import mlx.core as mx
import numpy as np
import scipy.special
from mlx import nn

from metalbench.task import normal
from metalbench.task.elementwise import elementwise


def clipped(a, b):
    """The gate."""
    a = np.clip(a, -7, 7)
    return a * scipy.special.expit(1.702 * a) * (np.clip(b, -7, 7) + 1)


def magnitude(a, b):
    """The terms of b + 1 apart."""
    a = np.clip(a, -7, 7)
    return np.abs(a) * scipy.special.expit(1.702 * a) * (np.abs(np.clip(b, -7, 7)) + 1)


clipped_gate = elementwise(
    "clipped_gate",
    lambda a, b: nn.gelu_fast_approx(mx.clip(a, -7, 7)) * (mx.clip(b, -7, 7) + 1),
    clipped,
    baseline="mx.clip, nn.gelu_fast_approx",
    flops=8,
    scale=magnitude,
    a=normal("rows", "cols", deviation=4),
    b=normal("rows", "cols", deviation=4),
)
