"""Convolution, scaling, leaky ReLU, GELU."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, height=16, width=16, channels=64, filters=64),
    paper=dict(batch=64, height=256, width=256, channels=64, filters=64),
)
def kb2_054_conv2d_multiply_leaky_relu_gelu(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.multiply(y, nn.normal("multiplier", nn.filters))
    y = nn.leaky_relu(y, 0.01)
    return nn.gelu(y)
