"""Convolution, minimum with 0.5, bias, scaling."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, height=16, width=16, channels=64, filters=64),
    paper=dict(batch=128, height=128, width=128, channels=64, filters=128),
)
def kb2_031_conv2d_min_add_multiply(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.minimum(y, 0.5)
    y = nn.add(y, nn.normal("bias", nn.filters))
    return nn.multiply(y, 2)
