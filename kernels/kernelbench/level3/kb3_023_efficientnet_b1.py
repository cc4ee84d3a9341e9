"""EfficientNet-B1 of seven blocks without gates; channels are multiples of `unit`."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import conv_bn, inverted, mean_of_pixels
from metalbench.kernelbench.problems.parameters import rand

# Channels behind each, in units, and its stride.
BLOCKS = ((2, 1), (3, 2), (5, 2), (10, 2), (14, 1), (24, 2), (40, 1))


@problem(
    inputs=dict(x=rand("batch", "side", "side", 3)),
    small=dict(batch=4, side=64, unit=1, classes=10),
    odd=dict(batch=5, side=69, unit=1, classes=11),
    cpu=dict(batch=2, side=72, unit=1, classes=40),
    paper=dict(batch=10, side=240, unit=8, classes=1000),
    depth=30,
)
def kb3_023_efficientnet_b1(nn, x):
    u = nn.unit
    x = nn.relu(conv_bn(nn, x, "conv1", "bn1", 4 * u, 3, stride=2, padding=1))
    for i, (filters, stride) in enumerate(BLOCKS, 1):
        x = inverted(nn, x, f"mbconv{i}.", filters * u, stride, 6 if i > 1 else 1)
    x = nn.relu(conv_bn(nn, x, "conv2", "bn2", 160 * u, 1))
    return nn.linear(mean_of_pixels(nn, x), "fc", nn.classes)
