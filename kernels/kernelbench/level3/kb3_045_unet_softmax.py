"""A U-Net with softmax along the width.

At the problem's own width of 512, rounding errors grow to the size of the results: the same program
in float32 and in float64 differs by 0.7 where results are at most 0.65. `paper` has images of the
same number of pixels that are 64 wide, where the two differ by 0.0002.
"""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import max_pool_square
from metalbench.kernelbench.problems.parameters import rand


def double_conv(nn, x, name, filters):
    """Twice: convolution, batch norm, softmax along the width."""
    for at in (0, 3):
        x = nn.conv(x, f"{name}.double_conv.{at}", filters, 3, padding=1)
        x = nn.softmax(nn.batch_norm(x, f"{name}.double_conv.{at + 1}"), 2)
    return x


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=1, height=16, width=32, channels=3, filters=4, classes=2),
    odd=dict(batch=2, height=32, width=16, channels=5, filters=3, classes=3),
    cpu=dict(batch=1, height=16, width=32, channels=8, filters=4, classes=4),
    paper=dict(batch=64, height=64, width=64, channels=8, filters=64, classes=4),
    multiples=dict(height=16, width=16),
    depth=100,
)
def kb3_045_unet_softmax(nn, x):
    skips = []
    for i in range(4):
        x = double_conv(nn, x, f"encoder{i + 1}", nn.filters << i)
        skips.append(x)
        x = max_pool_square(nn, x, 2, 2)
    x = double_conv(nn, x, "bottleneck", nn.filters << 4)
    for i in reversed(range(4)):
        x = nn.conv_transpose(x, f"upconv{i + 1}", nn.filters << i, 2, stride=2)
        x = nn.concat([x, skips.pop()], -1)
        x = double_conv(nn, x, f"decoder{i + 1}", nn.filters << i)
    return nn.conv(x, "final_conv", nn.classes, 1)
