"""Convolution, group norm, minimum with 0, clamp, dropout."""

import numpy as np

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import Initial, drawn, rand

FLOOR = Initial(
    "0",
    lambda _, shape: np.zeros(shape, np.float32),
    lambda random, shape: -random.uniform(0.5, 1.5, shape).astype(np.float32),
)

# What dropout keeps is given: drawn by the reference itself, no result could be right.
keep = drawn(
    "batch",
    "depth - 2",
    "height - 2",
    "width - 2",
    "filters",
    text="1, one in five 0",
    draw=lambda random, shape: random.random(shape) < 0.8,
)


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels"), keep=keep),
    small=dict(batch=2, depth=6, height=8, width=8, channels=3, filters=8, groups=4),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=3, filters=12, groups=4),
    cpu=dict(batch=2, depth=19, height=19, width=19, channels=3, filters=16, groups=8),
    paper=dict(batch=128, depth=16, height=64, width=64, channels=3, filters=16, groups=8),
    divides=dict(filters="groups"),
)
def kb2_083_conv3d_group_norm_min_clamp_dropout(nn, x, keep):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.group_norm(y, "norm", nn.groups)
    # Clamped to [0, 1] what is no more than 0 is always 0: with a lower floor it is not.
    y = nn.clamp(nn.minimum(y, 0), nn.parameter("floor", (1,), FLOOR), 1)
    return nn.dropout(y, keep, 0.2)
