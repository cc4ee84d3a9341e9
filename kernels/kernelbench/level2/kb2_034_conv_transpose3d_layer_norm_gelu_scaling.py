"""Transposed convolution, layer norm along the width, GELU, scaling."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=4, height=4, width=4, channels=4, filters=8),
    odd=dict(batch=2, depth=5, height=6, width=5, channels=3, filters=10),
    cpu=dict(batch=1, depth=4, height=4, width=4, channels=32, filters=64),
    paper=dict(batch=32, depth=16, height=32, width=32, channels=32, filters=64),
)
def kb2_034_conv_transpose3d_layer_norm_gelu_scaling(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 4, stride=2, padding=1)
    y = nn.layer_norm(y, "layer_norm", axis=-2)
    y = nn.gelu(y)
    return nn.multiply(y, 1)
