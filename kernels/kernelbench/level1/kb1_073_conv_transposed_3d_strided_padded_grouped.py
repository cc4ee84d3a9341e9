"""A transposed convolution of 3 x 3 x 3 taps, steps of 2, padding 1."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=4, height=5, width=6, channels=4, filters=8),
    odd=dict(batch=2, depth=4, height=5, width=7, channels=8, filters=12),
    cpu=dict(batch=1, depth=8, height=8, width=8, channels=32, filters=32),
    paper=dict(batch=4, depth=32, height=64, width=128, channels=32, filters=32),
)
def kb1_073_conv_transposed_3d_strided_padded_grouped(nn, x):
    return nn.conv_transpose(x, "conv_transpose3d", nn.filters, 3, stride=2, padding=1, bias=False)
