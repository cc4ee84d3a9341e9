"""A convolution of 11 x 11 taps, steps of 4, padding 2."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=31, width=31, channels=3, filters=8),
    odd=dict(batch=3, height=37, width=43, channels=3, filters=7),
    cpu=dict(batch=2, height=95, width=95, channels=3, filters=48),
    paper=dict(batch=256, height=224, width=224, channels=3, filters=96),
)
def kb1_050_conv_standard_2d(nn, x):
    return nn.conv(x, "conv1", nn.filters, 11, stride=4, padding=2)
