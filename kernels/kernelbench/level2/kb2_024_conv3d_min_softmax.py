"""Convolution, smallest, softmax."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=3, filters=8),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=3, filters=7),
    cpu=dict(batch=2, depth=17, height=17, width=17, channels=3, filters=24),
    paper=dict(batch=128, depth=24, height=32, width=32, channels=3, filters=24),
)
def kb2_024_conv3d_min_softmax(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.min(y, 1)
    return nn.softmax(y, -1)
