"""A transposed convolution of 3 x 5 x 5 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=4, height=8, width=8, channels=3, filters=4),
    odd=dict(batch=2, depth=5, height=9, width=7, channels=3, filters=5),
    cpu=dict(batch=1, depth=5, height=5, width=5, channels=32, filters=24),
    paper=dict(batch=16, depth=64, height=64, width=64, channels=32, filters=64),
)
def kb1_068_conv_transposed_3d(nn, x):
    return nn.conv_transpose(x, "conv_transpose3d", nn.filters, (3, 5, 5), bias=False)
