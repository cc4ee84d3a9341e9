"""Transposed convolution, GELU, group norm."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8, groups=4),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=12, groups=4),
    cpu=dict(batch=2, height=14, width=14, channels=64, filters=64, groups=8),
    paper=dict(batch=128, height=256, width=256, channels=64, filters=64, groups=8),
    divides=dict(filters="groups"),
)
def kb2_019_conv_transpose2d_gelu_group_norm(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3)
    y = nn.gelu(y)
    return nn.group_norm(y, "group_norm", nn.groups)
