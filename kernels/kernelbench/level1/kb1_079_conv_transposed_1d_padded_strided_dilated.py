"""A transposed convolution of 3 taps, steps of 2, padding 1, dilation 2."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "length", "channels")),
    small=dict(batch=2, length=64, channels=4, filters=8),
    odd=dict(batch=3, length=77, channels=5, filters=7),
    cpu=dict(batch=2, length=1024, channels=32, filters=64),
    paper=dict(batch=16, length=131072, channels=32, filters=64),
)
def kb1_079_conv_transposed_1d_padded_strided_dilated(nn, x):
    return nn.conv_transpose(
        x, "conv1d_transpose", nn.filters, 3, stride=2, padding=1, dilation=2, bias=False
    )
