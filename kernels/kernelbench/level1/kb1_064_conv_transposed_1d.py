"""A transposed convolution of 3 taps."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "length", "channels")),
    small=dict(batch=2, length=64, channels=4, filters=8),
    odd=dict(batch=3, length=77, channels=5, filters=7),
    cpu=dict(batch=2, length=256, channels=128, filters=128),
    paper=dict(batch=64, length=65536, channels=128, filters=128),
)
def kb1_064_conv_transposed_1d(nn, x):
    return nn.conv_transpose(x, "conv1d_transpose", nn.filters, 3, bias=False)
