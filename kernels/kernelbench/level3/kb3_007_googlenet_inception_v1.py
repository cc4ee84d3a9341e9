"""GoogLeNet; channels are multiples of `unit`."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import inception, max_pool_square, mean_of_pixels
from metalbench.kernelbench.problems.parameters import rand

MODULES = (
    ("3a", 8, 12, 16, 2, 4, 4),
    ("3b", 16, 16, 24, 4, 12, 8),
    ("4a", 24, 12, 26, 2, 6, 8),
    ("4b", 20, 14, 28, 3, 8, 8),
    ("4c", 16, 16, 32, 3, 8, 8),
    ("4d", 14, 18, 36, 4, 8, 8),
    ("4e", 32, 20, 40, 4, 16, 16),
    ("5a", 32, 20, 40, 4, 16, 16),
    ("5b", 48, 24, 48, 6, 16, 16),
)


@problem(
    inputs=dict(x=rand("batch", "side", "side", 3)),
    small=dict(batch=2, side=32, unit=1, classes=10),
    odd=dict(batch=1, side=45, unit=1, classes=11),
    cpu=dict(batch=1, side=64, unit=1, classes=100),
    paper=dict(batch=10, side=224, unit=8, classes=1000),
)
def kb3_007_googlenet_inception_v1(nn, x):
    u = nn.unit
    x = max_pool_square(nn, nn.relu(nn.conv(x, "conv1", 8 * u, 7, stride=2, padding=3)), 3, 2, 1)
    x = nn.relu(nn.conv(x, "conv2", 8 * u, 1))
    x = max_pool_square(nn, nn.relu(nn.conv(x, "conv3", 24 * u, 3, padding=1)), 3, 2, 1)
    for name, *filters in MODULES:
        x = inception(nn, x, f"inception{name}.", [u * each for each in filters])
        if name in ("3b", "4e"):
            x = max_pool_square(nn, x, 3, 2, 1)
    return nn.linear(mean_of_pixels(nn, x), "fc", nn.classes)
