"""Transposed convolution, batch norm, means of 2 x 2 x 2, means of 2 x 2 x 2."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=3, filters=8),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=3, filters=7),
    cpu=dict(batch=2, depth=11, height=11, width=11, channels=3, filters=16),
    paper=dict(batch=64, depth=32, height=32, width=32, channels=3, filters=16),
    magnitude=1.0,
    depth=4,
)
def kb2_072_conv_transpose3d_batch_norm_avg_pool_avg_pool(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3, stride=2, padding=1)
    y = nn.batch_norm(y, "batch_norm")
    y = nn.avg_pool(y, (2, 2, 2), (2, 2, 2), (0, 0, 0))
    return nn.avg_pool(y, (2, 2, 2), (2, 2, 2), (0, 0, 0))
