"""Transposed convolution, sigmoid, product, group norm, hard swish."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=3, filters=8, groups=4),
    odd=dict(batch=2, depth=7, height=11, width=13, channels=3, filters=12, groups=4),
    cpu=dict(batch=2, depth=11, height=11, width=11, channels=3, filters=16, groups=4),
    paper=dict(batch=128, depth=16, height=32, width=32, channels=3, filters=16, groups=4),
    divides=dict(filters="groups"),
)
def kb2_060_conv_transpose3d_swish_group_norm_hard_swish(nn, x):
    a = nn.conv_transpose(x, "conv_transpose", nn.filters, 3, stride=2, padding=1)
    y = nn.sigmoid(a)
    y = nn.multiply(y, a)
    y = nn.group_norm(y, "group_norm", nn.groups)
    return nn.hardswish(y)
