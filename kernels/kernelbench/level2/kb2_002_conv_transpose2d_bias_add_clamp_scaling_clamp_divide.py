"""Transposed convolution, bias, clamp, scaling, clamp, division."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, height=14, width=14, channels=64, filters=64),
    paper=dict(batch=128, height=128, width=128, channels=64, filters=64),
)
def kb2_002_conv_transpose2d_bias_add_clamp_scaling_clamp_divide(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3, stride=2, padding=1, output_padding=1)
    y = nn.add(y, nn.normal("bias", nn.filters))
    y = nn.clamp(y, 0, 1)
    y = nn.multiply(y, 2)
    y = nn.clamp(y, 0, 1)
    return nn.divide(y, 2)
