"""Convolution, scaling, tanh, times a bias, sigmoid."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=3, filters=8),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=3, filters=7),
    cpu=dict(batch=2, depth=19, height=19, width=19, channels=3, filters=16),
    paper=dict(batch=128, depth=16, height=64, width=64, channels=3, filters=16),
    # Scaled twice, rounding errors of the convolution are far larger ones of what sigmoid takes.
    magnitude=8.0,
)
def kb2_048_conv3d_scaling_tanh_multiply_sigmoid(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.multiply(y, nn.normal("scaling_factor", nn.filters))
    y = nn.tanh(y)
    y = nn.multiply(y, nn.normal("bias", nn.filters))
    return nn.sigmoid(y)
