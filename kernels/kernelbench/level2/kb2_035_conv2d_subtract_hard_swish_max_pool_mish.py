"""Convolution, difference, hard swish, maxima of 2 x 2, Mish."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, height=16, width=16, channels=64, filters=64),
    paper=dict(batch=128, height=128, width=128, channels=64, filters=128),
)
def kb2_035_conv2d_subtract_hard_swish_max_pool_mish(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.subtract(y, 0.5)
    y = nn.hardswish(y)
    y = nn.max_pool(y, (2, 2), (2, 2), (0, 0))
    return nn.mish(y)
