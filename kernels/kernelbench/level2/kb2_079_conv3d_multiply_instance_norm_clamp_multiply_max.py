"""Convolution, scaling, instance norm, clamp, scaling, largest over channels."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=3, filters=4),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=3, filters=5),
    cpu=dict(batch=2, depth=19, height=19, width=19, channels=3, filters=16),
    paper=dict(batch=128, depth=16, height=32, width=32, channels=3, filters=16),
)
def kb2_079_conv3d_multiply_instance_norm_clamp_multiply_max(nn, x):
    multiplier = nn.normal("multiplier", nn.filters)
    y = nn.multiply(nn.conv(x, "conv", nn.filters, 3), multiplier)
    y = nn.clamp(nn.instance_norm(y), -1, 1)
    return nn.max(nn.multiply(y, multiplier), -1)
