"""A transposed convolution of 3 x 5 x 7 taps, steps of 2, padding 1 x 2 x 3, 4 groups."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=3, height=4, width=5, channels=8, filters=8),
    odd=dict(batch=2, depth=3, height=5, width=7, channels=8, filters=12),
    cpu=dict(batch=1, depth=6, height=8, width=12, channels=32, filters=32),
    paper=dict(batch=8, depth=12, height=24, width=48, channels=32, filters=32),
    multiples=dict(channels=4, filters=4),
)
def kb1_072_conv_transposed_3d_strided_padded_grouped(nn, x):
    return nn.conv_transpose(
        x,
        "conv_transpose3d",
        nn.filters,
        (3, 5, 7),
        stride=2,
        padding=(1, 2, 3),
        output_padding=1,
        groups=4,
        bias=False,
    )
