"""Convolution, division, maxima of 2 x 2 x 2, mean over pixels, bias, sum over channels."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, depth=14, height=14, width=14, channels=8, filters=16),
    paper=dict(batch=128, depth=16, height=64, width=64, channels=8, filters=16),
)
def kb2_008_conv3d_divide_max_global_avg_pool_bias_add_sum(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.divide(y, 2)
    y = nn.max_pool(y, (2, 2, 2), (2, 2, 2), (0, 0, 0))
    y = nn.mean(y, (1, 2, 3), keep=True)
    y = nn.add(y, nn.normal("bias", nn.filters))
    return nn.sum(y, -1)
