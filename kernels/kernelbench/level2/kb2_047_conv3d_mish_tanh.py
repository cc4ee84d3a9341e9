"""Convolution, Mish, tanh."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, depth=8, height=8, width=8, channels=32, filters=64),
    paper=dict(batch=16, depth=32, height=64, width=64, channels=32, filters=64),
)
def kb2_047_conv3d_mish_tanh(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.mish(y)
    return nn.tanh(y)
