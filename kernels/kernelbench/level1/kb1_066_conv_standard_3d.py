"""A convolution of 3 x 5 x 7 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=3, filters=8),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=3, filters=7),
    cpu=dict(batch=1, depth=8, height=16, width=24, channels=3, filters=48),
    paper=dict(batch=8, depth=16, height=128, width=128, channels=3, filters=64),
)
def kb1_066_conv_standard_3d(nn, x):
    return nn.conv(x, "conv3d", nn.filters, (3, 5, 7), bias=False)
