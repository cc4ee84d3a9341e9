"""Convolution, group norm, tanh, hard swish, sum, logsumexp over channels."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8, groups=4),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=12, groups=4),
    cpu=dict(batch=2, height=42, width=42, channels=8, filters=64, groups=16),
    paper=dict(batch=128, height=128, width=128, channels=8, filters=64, groups=16),
    divides=dict(filters="groups"),
)
def kb2_092_conv2d_group_norm_tanh_hard_swish_residual_add_log_sum_exp(nn, x):
    a = nn.conv(x, "conv", nn.filters, 3)
    y = nn.group_norm(a, "group_norm", nn.groups)
    y = nn.tanh(y)
    y = nn.hardswish(y)
    y = nn.add(y, a)
    return nn.logsumexp(y, -1, keep=True)
