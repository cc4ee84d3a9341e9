"""Transposed convolution, maxima of 2 x 2, clamp, mean, tanh."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, height=14, width=14, channels=64, filters=64),
    paper=dict(batch=128, height=256, width=256, channels=64, filters=64),
)
def kb2_010_conv_transpose2d_max_pool_hardtanh_mean_tanh(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3, padding=1)
    y = nn.max_pool(y, (2, 2), (2, 2), (0, 0))
    y = nn.clamp(y, -1, 1)
    y = nn.mean(y, (1, 2), keep=True)
    return nn.tanh(y)
