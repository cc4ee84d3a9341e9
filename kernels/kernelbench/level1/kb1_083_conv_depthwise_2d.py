"""A depthwise convolution of 3 x 1 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4),
    odd=dict(batch=3, height=11, width=13, channels=5),
    cpu=dict(batch=8, height=64, width=64, channels=8),
    paper=dict(batch=64, height=512, width=512, channels=8),
)
def kb1_083_conv_depthwise_2d(nn, x):
    return nn.conv(x, "conv2d", nn.channels, (3, 1), groups=nn.channels, bias=False)
