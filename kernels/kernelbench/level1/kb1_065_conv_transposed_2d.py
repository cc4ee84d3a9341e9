"""A transposed convolution of 3 x 7 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, height=16, width=16, channels=64, filters=64),
    paper=dict(batch=8, height=512, width=512, channels=64, filters=64),
)
def kb1_065_conv_transposed_2d(nn, x):
    return nn.conv_transpose(x, "conv_transpose2d", nn.filters, (3, 7), bias=False)
