"""Transposed convolution, maxima of 2 x 2 x 2, maxima of 3 x 3 x 3, sum over channels."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=5, height=6, width=6, channels=3, filters=8),
    odd=dict(batch=2, depth=5, height=6, width=7, channels=3, filters=7),
    cpu=dict(batch=1, depth=4, height=4, width=4, channels=32, filters=64),
    paper=dict(batch=16, depth=32, height=32, width=32, channels=32, filters=64),
)
def kb2_078_conv_transpose3d_max_max_sum(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 5, stride=2, padding=2)
    y = nn.max_pool(y, (2, 2, 2), (2, 2, 2), (0, 0, 0))
    y = nn.max_pool(y, (3, 3, 3), (3, 3, 3), (0, 0, 0))
    return nn.sum(y, -1, keep=True)
