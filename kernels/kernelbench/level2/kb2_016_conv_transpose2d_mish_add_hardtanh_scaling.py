"""Transposed convolution, Mish, sum, clamp, scaling."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, height=14, width=14, channels=64, filters=64),
    paper=dict(batch=128, height=128, width=128, channels=64, filters=64),
)
def kb2_016_conv_transpose2d_mish_add_hardtanh_scaling(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3, stride=2, padding=1, output_padding=1)
    y = nn.mish(y)
    y = nn.add(y, 0.5)
    y = nn.clamp(y, -1, 1)
    return nn.multiply(y, 2)
