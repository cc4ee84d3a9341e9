"""Transposed convolution, mean, bias, softmax, tanh, scaling."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=2, depth=7, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, depth=8, height=8, width=8, channels=16, filters=64),
    paper=dict(batch=16, depth=32, height=128, width=128, channels=16, filters=64),
    avoidable=True,
)
def kb2_013_conv_transpose3d_mean_add_softmax_tanh_scaling(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3, padding=1)
    y = nn.mean(y, 1, keep=True)
    y = nn.add(y, nn.normal("bias", nn.filters))
    y = nn.softmax(y, -1)
    y = nn.tanh(y)
    return nn.multiply(y, 2)
