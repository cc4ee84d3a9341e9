"""Convolution, maxima of 2 x 2 x 2, logsumexp over channels, ReLU."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=2, depth=7, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, depth=8, height=8, width=8, channels=32, filters=64),
    paper=dict(batch=4, depth=32, height=128, width=128, channels=32, filters=64),
)
def kb2_043_conv3d_max_log_sum_exp_relu(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3, padding=1)
    y = nn.max_pool(y, (2, 2, 2), (2, 2, 2), (0, 0, 0))
    y = nn.logsumexp(y, -1, keep=True)
    return nn.relu(y)
