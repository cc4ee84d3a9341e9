"""Convolution, group norm, scaling, maxima of 4 x 4, clamp."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8, groups=4),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=12, groups=4),
    cpu=dict(batch=2, height=42, width=42, channels=8, filters=64, groups=16),
    paper=dict(batch=128, height=128, width=128, channels=8, filters=64, groups=16),
    divides=dict(filters="groups"),
    # What is left of [0, 1] may be the difference of numbers a hundred times as large.
    magnitude=32.0,
)
def kb2_085_conv2d_group_norm_scale_max_pool_clamp(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.group_norm(y, "group_norm", nn.groups)
    y = nn.multiply(y, nn.constant("scale", 1, nn.filters))
    y = nn.max_pool(y, (4, 4), (4, 4), (0, 0))
    return nn.clamp(y, 0, 1)
