"""A depthwise convolution of 3 x 3 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=8),
    odd=dict(batch=3, height=11, width=13, channels=7),
    cpu=dict(batch=1, height=40, width=48, channels=128),
    paper=dict(batch=64, height=256, width=512, channels=128),
)
def kb1_084_conv_depthwise_2d(nn, x):
    return nn.conv(x, "conv2d", nn.channels, 3, groups=nn.channels, bias=False)
