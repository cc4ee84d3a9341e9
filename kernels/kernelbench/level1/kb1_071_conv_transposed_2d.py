"""A transposed convolution of 3 x 3 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, height=32, width=32, channels=32, filters=32),
    paper=dict(batch=8, height=512, width=1024, channels=32, filters=32),
)
def kb1_071_conv_transposed_2d(nn, x):
    return nn.conv_transpose(x, "conv_transpose2d", nn.filters, 3, bias=False)
