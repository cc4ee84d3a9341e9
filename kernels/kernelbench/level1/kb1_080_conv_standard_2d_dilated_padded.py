"""A convolution of 5 x 9 taps, padding 2 x 4, dilation 2 x 3."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=20, channels=3, filters=6),
    odd=dict(batch=2, height=11, width=23, channels=3, filters=7),
    cpu=dict(batch=1, height=16, width=28, channels=32, filters=48),
    paper=dict(batch=8, height=512, width=512, channels=32, filters=64),
)
def kb1_080_conv_standard_2d_dilated_padded(nn, x):
    return nn.conv(x, "conv2d", nn.filters, (5, 9), padding=(2, 4), dilation=(2, 3), bias=False)
