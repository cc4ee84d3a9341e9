"""Transposed convolution, mean, bias, logsumexp over channels, sum, scaling."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, height=14, width=14, channels=64, filters=64),
    paper=dict(batch=16, height=512, width=512, channels=64, filters=128),
    avoidable=True,
)
def kb2_042_conv_transpose2d_global_avg_pool_bias_add_log_sum_exp_sum_multiply(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3)
    y = nn.mean(y, (1, 2), keep=True)
    y = nn.add(y, nn.normal("bias", nn.filters))
    y = nn.logsumexp(y, -1, keep=True)
    y = nn.sum(y, (1, 2))
    return nn.multiply(y, 10)
