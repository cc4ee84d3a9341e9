"""A convolution of 3 x 3 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, height=16, width=16, channels=64, filters=128),
    paper=dict(batch=8, height=512, width=1024, channels=64, filters=128),
)
def kb1_055_conv_standard_2d(nn, x):
    return nn.conv(x, "conv2d", nn.filters, 3, bias=False)
