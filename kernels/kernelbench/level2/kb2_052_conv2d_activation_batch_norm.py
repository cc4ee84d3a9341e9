"""Convolution, softplus, tanh, product, batch norm."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, height=16, width=16, channels=64, filters=64),
    paper=dict(batch=64, height=128, width=128, channels=64, filters=128),
)
def kb2_052_conv2d_activation_batch_norm(nn, x):
    a = nn.conv(x, "conv", nn.filters, 3)
    y = nn.softplus(a)
    y = nn.tanh(y)
    y = nn.multiply(y, a)
    return nn.batch_norm(y, "bn")
