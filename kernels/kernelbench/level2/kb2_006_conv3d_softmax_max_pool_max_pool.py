"""Convolution, softmax, maxima of 2 x 2 x 2, maxima of 2 x 2 x 2."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=3, filters=8),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=3, filters=7),
    cpu=dict(batch=2, depth=19, height=19, width=19, channels=3, filters=16),
    paper=dict(batch=128, depth=16, height=32, width=32, channels=3, filters=16),
)
def kb2_006_conv3d_softmax_max_pool_max_pool(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.softmax(y, -1)
    y = nn.max_pool(y, (2, 2, 2), (2, 2, 2), (0, 0, 0))
    return nn.max_pool(y, (2, 2, 2), (2, 2, 2), (0, 0, 0))
