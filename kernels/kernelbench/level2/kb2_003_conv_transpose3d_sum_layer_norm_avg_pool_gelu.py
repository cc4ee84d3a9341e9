"""Transposed convolution, sum, layer norm along the width, means of 2 x 2 x 2, GELU."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=4, height=4, width=4, channels=4, filters=8),
    odd=dict(batch=2, depth=5, height=7, width=5, channels=3, filters=10),
    cpu=dict(batch=1, depth=6, height=6, width=6, channels=32, filters=64),
    paper=dict(batch=32, depth=16, height=32, width=32, channels=32, filters=64),
    depth=4,
)
def kb2_003_conv_transpose3d_sum_layer_norm_avg_pool_gelu(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 3, stride=2, padding=1, output_padding=1)
    y = nn.add(y, nn.constant("sum_weight", 1))
    y = nn.layer_norm(y, "norm", axis=-2)
    y = nn.avg_pool(y, (2, 2, 2), (2, 2, 2), (0, 0, 0))
    return nn.gelu(y)
