"""A transposed convolution of 5 taps, dilation 3."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "length", "channels")),
    small=dict(batch=2, length=64, channels=4, filters=8),
    odd=dict(batch=3, length=77, channels=5, filters=7),
    cpu=dict(batch=2, length=768, channels=32, filters=64),
    paper=dict(batch=32, length=131072, channels=32, filters=64),
)
def kb1_074_conv_transposed_1d_dilated(nn, x):
    return nn.conv_transpose(x, "conv1d_transpose", nn.filters, 5, dilation=3, bias=False)
