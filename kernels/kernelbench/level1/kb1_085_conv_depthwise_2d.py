"""A depthwise convolution of 3 x 7 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=8),
    odd=dict(batch=3, height=11, width=13, channels=7),
    cpu=dict(batch=1, height=32, width=40, channels=128),
    paper=dict(batch=32, height=128, width=256, channels=128),
)
def kb1_085_conv_depthwise_2d(nn, x):
    return nn.conv(x, "conv2d", nn.channels, (3, 7), groups=nn.channels, bias=False)
