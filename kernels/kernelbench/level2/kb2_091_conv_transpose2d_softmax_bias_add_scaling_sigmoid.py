"""Transposed convolution, softmax, bias, scaling, sigmoid."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, height=10, width=10, channels=64, filters=64),
    paper=dict(batch=128, height=64, width=64, channels=64, filters=128),
)
def kb2_091_conv_transpose2d_softmax_bias_add_scaling_sigmoid(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 4, stride=2, padding=1, output_padding=1)
    y = nn.softmax(y, -1)
    y = nn.add(y, nn.normal("bias", nn.filters))
    y = nn.multiply(y, 2)
    return nn.sigmoid(y)
