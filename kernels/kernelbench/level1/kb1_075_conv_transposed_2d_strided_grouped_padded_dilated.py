"""A transposed convolution of 3 x 5 taps: strided, grouped, padded and dilated."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=8, filters=8),
    odd=dict(batch=3, height=11, width=13, channels=12, filters=20),
    cpu=dict(batch=2, height=24, width=32, channels=32, filters=64),
    paper=dict(batch=16, height=128, width=256, channels=32, filters=64),
    multiples=dict(channels=4, filters=4),
)
def kb1_075_conv_transposed_2d_strided_grouped_padded_dilated(nn, x):
    return nn.conv_transpose(
        x,
        "conv_transpose2d",
        nn.filters,
        (3, 5),
        stride=(2, 3),
        padding=(1, 2),
        dilation=(2, 1),
        groups=4,
        bias=False,
    )
