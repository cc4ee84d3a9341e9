"""Transposed convolution, scaling, batch norm, mean over pixels."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=5, height=6, width=6, channels=3, filters=4),
    odd=dict(batch=3, depth=4, height=5, width=7, channels=3, filters=5),
    cpu=dict(batch=2, depth=4, height=4, width=4, channels=16, filters=32),
    paper=dict(batch=16, depth=16, height=32, width=32, channels=64, filters=128),
    magnitude=1.0,
)
def kb2_077_conv_transpose3d_scale_batch_norm_global_avg_pool(nn, x):
    y = nn.conv_transpose(x, "conv_transpose", nn.filters, 5)
    y = nn.multiply(y, 2)
    y = nn.batch_norm(y, "batch_norm")
    return nn.mean(y, (1, 2, 3), keep=True)
