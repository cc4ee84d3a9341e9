"""Convolution, difference, difference, Mish."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, height=42, width=42, channels=8, filters=64),
    paper=dict(batch=128, height=256, width=256, channels=8, filters=64),
)
def kb2_087_conv2d_subtract_subtract_mish(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.subtract(y, 0.5)
    y = nn.subtract(y, 0.2)
    return nn.mish(y)
