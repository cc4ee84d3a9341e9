"""Transposed convolution, minus a bias, tanh."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, height=10, width=10, channels=64, filters=64),
    paper=dict(batch=32, height=256, width=256, channels=64, filters=64),
)
def kb2_005_conv_transpose2d_subtract_tanh(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 4, stride=2, padding=1, output_padding=1)
    y = nn.subtract(y, nn.normal("bias", nn.filters))
    return nn.tanh(y)
