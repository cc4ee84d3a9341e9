"""Transposed convolution, logsumexp over channels, sum, sigmoid, product, division ..."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=3, filters=8),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=3, filters=7),
    cpu=dict(batch=2, depth=11, height=11, width=11, channels=3, filters=16),
    paper=dict(batch=128, depth=16, height=32, width=32, channels=3, filters=16),
)
def kb2_058_conv_transpose3d_log_sum_exp_hard_swish_subtract_clamp(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3, stride=2, padding=1)
    a = nn.logsumexp(y, -1, keep=True)
    y = nn.add(a, 3)
    y = nn.sigmoid(y)
    y = nn.multiply(y, a)
    y = nn.divide(y, 6)
    y = nn.subtract(y, nn.normal("bias"))
    return nn.clamp(y, -1, 1)
