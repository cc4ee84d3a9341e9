"""A transposed convolution of 3 x 3 x 3 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=2, depth=7, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, depth=6, height=8, width=8, channels=48, filters=24),
    paper=dict(batch=8, depth=96, height=96, width=96, channels=48, filters=24),
)
def kb1_070_conv_transposed_3d(nn, x):
    return nn.conv_transpose(x, "conv_transpose3d", nn.filters, 3, bias=False)
