"""Transposed convolution, sum, hard swish, product."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(
        x=rand("batch", "depth", "height", "width", "channels"),
        add_input=rand("batch", "2 * depth", "2 * height", "2 * width", "filters"),
    ),
    small=dict(batch=2, depth=6, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=2, depth=7, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=1, depth=6, height=6, width=6, channels=32, filters=64),
    paper=dict(batch=128, depth=16, height=16, width=16, channels=32, filters=64),
)
def kb2_026_conv_transpose3d_add_hard_swish(nn, x, add_input):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3, stride=2, padding=1, output_padding=1)
    a = nn.add(y, add_input)
    y = nn.hardswish(a)
    return nn.multiply(y, a)
