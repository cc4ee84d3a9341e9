"""Convolution, batch norm, scaling."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, height=42, width=42, channels=8, filters=64),
    paper=dict(batch=128, height=128, width=128, channels=8, filters=64),
)
def kb2_073_conv2d_batch_norm_scaling(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.batch_norm(y, "bn")
    return nn.multiply(y, 2)
