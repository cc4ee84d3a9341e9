"""ShuffleNet without strides; channels are multiples of 12 `unit`."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import (
    conv_bn,
    max_pool_square,
    mean_of_pixels,
    shuffle_unit,
)
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "side", "side", 3)),
    small=dict(batch=2, side=16, unit=1, head=32, classes=10),
    odd=dict(batch=3, side=21, unit=1, head=35, classes=11),
    cpu=dict(batch=1, side=32, unit=1, head=64, classes=40),
    paper=dict(batch=10, side=224, unit=20, head=1024, classes=1000),
    depth=60,
)
def kb3_026_shufflenet(nn, x):
    x = nn.relu(conv_bn(nn, x, "conv1", "bn1", 24, 3, stride=2, padding=1))
    x = max_pool_square(nn, x, 3, 2, 1)
    for stage, count in ((2, 3), (3, 7), (4, 3)):
        filters = 12 * nn.unit << (stage - 2)
        for i in range(count):
            x = shuffle_unit(nn, x, f"stage{stage}.{i}.", filters, shortcut=i == 0)
    x = nn.relu(conv_bn(nn, x, "conv5", "bn5", nn.head, 1))
    return nn.linear(mean_of_pixels(nn, x), "fc", nn.classes)
