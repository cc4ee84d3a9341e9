"""A transposed convolution of 3 x 3 taps, steps of 5, padding 1, dilation 2."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, height=12, width=16, channels=32, filters=64),
    paper=dict(batch=16, height=64, width=128, channels=32, filters=64),
)
def kb1_081_conv_transposed_2d_dilated_padded_strided(nn, x):
    return nn.conv_transpose(
        x, "conv_transpose2d", nn.filters, 3, stride=5, padding=1, dilation=2, bias=False
    )
