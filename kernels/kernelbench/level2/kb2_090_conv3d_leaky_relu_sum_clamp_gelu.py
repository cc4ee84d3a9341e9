"""Convolution, leaky ReLU, sum, clamp, GELU."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, depth=10, height=10, width=10, channels=8, filters=64),
    paper=dict(batch=128, depth=16, height=64, width=64, channels=8, filters=64),
)
def kb2_090_conv3d_leaky_relu_sum_clamp_gelu(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.leaky_relu(y, 0.2)
    y = nn.add(y, nn.normal("sum_tensor", nn.filters))
    y = nn.clamp(y, -1, 1)
    return nn.gelu(y)
