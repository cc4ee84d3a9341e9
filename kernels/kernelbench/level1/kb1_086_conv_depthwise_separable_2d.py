"""A depthwise convolution of 3 x 3 taps, and one of single pixels."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, height=40, width=40, channels=32, filters=64),
    paper=dict(batch=16, height=512, width=512, channels=64, filters=128),
)
def kb1_086_conv_depthwise_separable_2d(nn, x):
    y = nn.conv(x, "depthwise", nn.channels, 3, padding=1, groups=nn.channels, bias=False)
    return nn.conv(y, "pointwise", nn.filters, 1, bias=False)
