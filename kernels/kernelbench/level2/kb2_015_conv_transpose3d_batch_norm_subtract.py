"""Transposed convolution, batch norm, mean, difference."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=2, depth=7, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, depth=8, height=8, width=8, channels=16, filters=32),
    paper=dict(batch=16, depth=16, height=32, width=32, channels=16, filters=32),
)
def kb2_015_conv_transpose3d_batch_norm_subtract(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3, stride=2, padding=1)
    a = nn.batch_norm(y, "batch_norm")
    y = nn.mean(a, (1, 2, 3), keep=True)
    return nn.subtract(a, y)
