"""A transposed convolution of 3 x 5 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, height=12, width=16, channels=64, filters=96),
    paper=dict(batch=64, height=128, width=256, channels=64, filters=128),
)
def kb1_069_conv_transposed_2d(nn, x):
    return nn.conv_transpose(x, "conv_transpose2d", nn.filters, (3, 5), bias=False)
