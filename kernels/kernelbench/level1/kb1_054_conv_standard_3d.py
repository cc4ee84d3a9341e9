"""A convolution of 3 x 3 x 3 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=3, filters=8),
    odd=dict(batch=3, depth=7, height=13, width=11, channels=3, filters=7),
    cpu=dict(batch=1, depth=16, height=16, width=16, channels=3, filters=64),
    paper=dict(batch=16, depth=64, height=64, width=64, channels=3, filters=64),
)
def kb1_054_conv_standard_3d(nn, x):
    return nn.conv(x, "conv3d", nn.filters, 3, bias=False)
