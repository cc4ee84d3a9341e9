"""A convolution of 3 taps, steps of 3, dilation 4."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "length", "channels")),
    small=dict(batch=2, length=64, channels=4, filters=8),
    odd=dict(batch=3, length=77, channels=5, filters=7),
    cpu=dict(batch=2, length=1152, channels=64, filters=128),
    paper=dict(batch=64, length=524280, channels=64, filters=128),
)
def kb1_076_conv_standard_1d_dilated_strided(nn, x):
    return nn.conv(x, "conv1d", nn.filters, 3, stride=3, dilation=4, bias=False)
