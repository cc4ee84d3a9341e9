"""EfficientNet-B0 without its gates; channels are multiples of `unit`."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import conv_bn, mb_conv, mean_of_pixels
from metalbench.kernelbench.problems.parameters import rand

# Channels behind each, in units, its taps and its stride.
BLOCKS = (
    *((2, 3, 1), (3, 3, 2), (3, 3, 1), (5, 5, 2), (5, 5, 1), (10, 3, 2), (10, 3, 1)),
    *((14, 5, 1), (14, 5, 1), (24, 5, 2), (24, 5, 1), (24, 5, 1), (40, 3, 1)),
)


@problem(
    inputs=dict(x=rand("batch", "side", "side", 3)),
    small=dict(batch=4, side=64, unit=1, classes=10),
    odd=dict(batch=5, side=69, unit=1, classes=11),
    cpu=dict(batch=2, side=72, unit=1, classes=40),
    paper=dict(batch=10, side=224, unit=8, classes=1000),
    depth=60,
)
def kb3_022_efficientnet_b0(nn, x):
    u = nn.unit
    x = nn.relu(conv_bn(nn, x, "conv1", "bn1", 4 * u, 3, stride=2, padding=1))
    for i, (filters, kernel, stride) in enumerate(BLOCKS):
        x = mb_conv(nn, x, f"blocks.{i}.", filters * u, kernel, stride, 6 if i else 1)
    x = nn.relu(conv_bn(nn, x, "conv2", "bn2", 160 * u, 1))
    return nn.linear(mean_of_pixels(nn, x), "fc", nn.classes)
