"""Transposed convolution, smallest over channels, sum, GELU, bias."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, height=14, width=14, channels=64, filters=64),
    paper=dict(batch=16, height=128, width=128, channels=64, filters=128),
    lifted=dict(conv_transpose_bias=4.0),
)
def kb2_036_conv_transpose2d_min_sum_gelu_add(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3, stride=2, padding=1, output_padding=1)
    y = nn.min(y, -1, keep=True)
    y = nn.sum(y, 1, keep=True)
    y = nn.gelu(y)
    return nn.add(y, nn.normal("bias"))
