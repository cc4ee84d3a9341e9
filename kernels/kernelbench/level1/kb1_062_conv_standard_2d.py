"""A convolution of 5 x 9 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=11, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, height=20, width=24, channels=32, filters=64),
    paper=dict(batch=8, height=512, width=512, channels=32, filters=64),
)
def kb1_062_conv_standard_2d(nn, x):
    return nn.conv(x, "conv2d", nn.filters, (5, 9), bias=False)
