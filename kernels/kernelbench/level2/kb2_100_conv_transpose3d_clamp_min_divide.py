"""Transposed convolution, clamp, division."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=2, depth=7, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, depth=5, height=5, width=5, channels=64, filters=64),
    paper=dict(batch=16, depth=24, height=48, width=48, channels=64, filters=128),
)
def kb2_100_conv_transpose3d_clamp_min_divide(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3, stride=2, padding=1)
    y = nn.clamp(y, -1)
    return nn.divide(y, 2)
