"""Transposed convolution, maxima of 2 x 2 x 2, softmax, difference, sigmoid, product ..."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=3, filters=8),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=3, filters=7),
    cpu=dict(batch=2, depth=11, height=11, width=11, channels=3, filters=16),
    paper=dict(batch=128, depth=16, height=32, width=32, channels=3, filters=16),
)
def kb2_089_conv_transpose3d_max_pool_softmax_subtract_swish_max(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3, stride=2, padding=1, output_padding=1)
    y = nn.max_pool(y, (2, 2, 2), (2, 2, 2), (0, 0, 0))
    y = nn.subtract(nn.softmax(y, -1), nn.normal("subtract", nn.filters))
    return nn.max(nn.multiply(nn.sigmoid(y), y), -1)
