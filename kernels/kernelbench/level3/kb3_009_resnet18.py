"""ResNet-18, its first stage `filters` wide."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import basic_block, resnet
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "side", "side", 3)),
    small=dict(batch=2, side=48, filters=4, classes=10),
    odd=dict(batch=3, side=57, filters=3, classes=11),
    cpu=dict(batch=2, side=64, filters=4, classes=100),
    paper=dict(batch=2, side=224, filters=64, classes=1000),
    depth=20,
)
def kb3_009_resnet18(nn, x):
    return resnet(nn, x, basic_block, (2, 2, 2, 2), nn.filters, nn.classes)
