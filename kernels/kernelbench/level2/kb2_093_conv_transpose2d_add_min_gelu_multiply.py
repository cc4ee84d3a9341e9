"""Transposed convolution, sum, minimum with 0, GELU, scaling."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, height=10, width=10, channels=64, filters=64),
    paper=dict(batch=128, height=64, width=64, channels=64, filters=128),
)
def kb2_093_conv_transpose2d_add_min_gelu_multiply(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 4, stride=2)
    y = nn.add(y, 0.5)
    y = nn.minimum(y, 0)
    y = nn.gelu(y)
    return nn.multiply(y, 2)
