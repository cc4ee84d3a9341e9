"""Convolution, group norm, mean."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=3, filters=8, groups=4),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=3, filters=12, groups=4),
    cpu=dict(batch=2, depth=17, height=17, width=17, channels=3, filters=24, groups=8),
    paper=dict(batch=128, depth=24, height=32, width=32, channels=3, filters=24, groups=8),
    divides=dict(filters="groups"),
    magnitude=1.0,
)
def kb2_023_conv3d_group_norm_mean(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.group_norm(y, "group_norm", nn.groups)
    return nn.mean(y, (1, 2, 3, 4))
