"""A depthwise convolution of 3 x 3 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4),
    odd=dict(batch=3, height=11, width=13, channels=5),
    cpu=dict(batch=2, height=48, width=48, channels=64),
    paper=dict(batch=16, height=512, width=512, channels=64),
)
def kb1_082_conv_depthwise_2d(nn, x):
    return nn.conv(x, "conv2d", nn.channels, 3, groups=nn.channels, bias=False)
