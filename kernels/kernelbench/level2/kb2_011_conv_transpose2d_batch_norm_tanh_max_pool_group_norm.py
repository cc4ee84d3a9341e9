"""Transposed convolution, batch norm, tanh, maxima of 2 x 2, group norm."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8, groups=4),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=12, groups=4),
    cpu=dict(batch=2, height=8, width=8, channels=64, filters=64, groups=8),
    paper=dict(batch=512, height=32, width=32, channels=64, filters=128, groups=8),
    divides=dict(filters="groups"),
)
def kb2_011_conv_transpose2d_batch_norm_tanh_max_pool_group_norm(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 5, padding=1)
    y = nn.batch_norm(y, "batch_norm")
    y = nn.tanh(y)
    y = nn.max_pool(y, (2, 2), (2, 2), (0, 0))
    return nn.group_norm(y, "group_norm", nn.groups)
