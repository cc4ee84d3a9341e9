"""A convolution of 3 x 5 x 7 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=5, height=7, width=9, channels=3, filters=8),
    odd=dict(batch=3, depth=13, height=11, width=7, channels=3, filters=7),
    cpu=dict(batch=1, depth=12, height=16, width=16, channels=3, filters=48),
    paper=dict(batch=16, depth=64, height=64, width=64, channels=3, filters=64),
)
def kb1_060_conv_standard_3d(nn, x):
    return nn.conv(x, "conv3d", nn.filters, (3, 5, 7), bias=False)
