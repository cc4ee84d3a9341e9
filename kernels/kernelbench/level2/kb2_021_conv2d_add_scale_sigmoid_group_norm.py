"""Convolution, bias, scaling, sigmoid, group norm."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8, groups=4),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=12, groups=4),
    cpu=dict(batch=2, height=42, width=42, channels=8, filters=32, groups=8),
    paper=dict(batch=128, height=256, width=256, channels=8, filters=32, groups=8),
    divides=dict(filters="groups"),
)
def kb2_021_conv2d_add_scale_sigmoid_group_norm(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.add(y, nn.normal("bias", nn.filters))
    y = nn.multiply(y, nn.normal("scale", nn.filters))
    y = nn.sigmoid(y)
    return nn.group_norm(y, "group_norm", nn.groups)
