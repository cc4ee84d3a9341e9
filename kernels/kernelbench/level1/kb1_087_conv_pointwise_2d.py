"""A convolution of single pixels."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, height=56, width=56, channels=64, filters=96),
    paper=dict(batch=16, height=1024, width=1024, channels=64, filters=128),
)
def kb1_087_conv_pointwise_2d(nn, x):
    return nn.conv(x, "conv1d", nn.filters, 1, bias=False)
