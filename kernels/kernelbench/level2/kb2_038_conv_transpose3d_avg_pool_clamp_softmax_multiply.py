"""Means of 2 x 2 x 2, transposed convolution, clamp, softmax, scaling."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, depth=6, height=6, width=6, channels=32, filters=64),
    paper=dict(batch=32, depth=32, height=64, width=64, channels=32, filters=64),
    depth=4,
)
def kb2_038_conv_transpose3d_avg_pool_clamp_softmax_multiply(nn, x):
    y = nn.avg_pool(x, (2, 2, 2), (2, 2, 2), (0, 0, 0))
    y = nn.conv_transpose(y, "conv_transpose", nn.filters, 3, stride=2, padding=1, output_padding=1)
    y = nn.clamp(y, 0, 1)
    y = nn.softmax(y, (1, 2, 3))
    return nn.multiply(y, nn.constant("scale", 1, nn.filters))
