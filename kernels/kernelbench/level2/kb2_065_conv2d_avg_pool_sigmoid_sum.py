"""Convolution, means of 4 x 4, sigmoid, sum."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, height=42, width=42, channels=8, filters=64),
    paper=dict(batch=128, height=384, width=384, channels=8, filters=64),
)
def kb2_065_conv2d_avg_pool_sigmoid_sum(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.avg_pool(y, (4, 4), (4, 4), (0, 0))
    y = nn.sigmoid(y)
    return nn.sum(y, (1, 2, 3))
