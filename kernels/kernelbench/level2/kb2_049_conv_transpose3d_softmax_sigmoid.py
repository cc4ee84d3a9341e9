"""Transposed convolution, softmax, sigmoid."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=2, depth=7, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, depth=6, height=6, width=6, channels=32, filters=64),
    paper=dict(batch=16, depth=16, height=32, width=32, channels=32, filters=64),
)
def kb2_049_conv_transpose3d_softmax_sigmoid(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3, stride=2, padding=1, output_padding=1)
    y = nn.softmax(y, -1)
    return nn.sigmoid(y)
