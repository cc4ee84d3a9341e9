"""A convolution of 3 x 3 x 1 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=8, height=8, width=4, channels=3, filters=8),
    odd=dict(batch=3, depth=11, height=13, width=5, channels=3, filters=7),
    cpu=dict(batch=1, depth=32, height=32, width=10, channels=3, filters=64),
    paper=dict(batch=16, depth=256, height=256, width=10, channels=3, filters=64),
)
def kb1_059_conv_standard_3d(nn, x):
    return nn.conv(x, "conv3d", nn.filters, (3, 3, 1), bias=False)
