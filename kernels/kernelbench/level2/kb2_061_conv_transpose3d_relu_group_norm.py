"""Transposed convolution, ReLU, group norm."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=4, filters=8, groups=4),
    odd=dict(batch=2, depth=7, height=11, width=13, channels=3, filters=12, groups=4),
    cpu=dict(batch=1, depth=4, height=5, width=5, channels=64, filters=48, groups=8),
    paper=dict(batch=16, depth=32, height=32, width=32, channels=64, filters=128, groups=8),
    divides=dict(filters="groups"),
)
def kb2_061_conv_transpose3d_relu_group_norm(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3, bias=False)
    y = nn.relu(y)
    return nn.group_norm(y, "group_norm", nn.groups)
