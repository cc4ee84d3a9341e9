"""Convolution, hard swish, group norm, mean."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=3, filters=8, groups=4),
    odd=dict(batch=2, depth=7, height=11, width=13, channels=3, filters=12, groups=4),
    cpu=dict(batch=2, depth=16, height=16, width=16, channels=3, filters=16, groups=4),
    paper=dict(batch=1024, depth=16, height=32, width=32, channels=3, filters=16, groups=4),
    divides=dict(filters="groups"),
    magnitude=1.0,
)
def kb2_027_conv3d_hard_swish_group_norm_mean(nn, x):
    y = nn.conv(x, "conv", nn.filters, 4)
    y = nn.hardswish(y)
    y = nn.group_norm(y, "group_norm", nn.groups)
    return nn.mean(y, (1, 2, 3))
