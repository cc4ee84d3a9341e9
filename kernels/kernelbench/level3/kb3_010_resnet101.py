"""ResNet-101, its first stage `filters` wide."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import bottleneck, resnet
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "side", "side", 3)),
    small=dict(batch=8, side=64, filters=2, classes=10),
    odd=dict(batch=5, side=75, filters=3, classes=11),
    cpu=dict(batch=4, side=64, filters=2, classes=100),
    paper=dict(batch=10, side=224, filters=64, classes=1000),
    depth=300,
)
def kb3_010_resnet101(nn, x):
    return resnet(nn, x, bottleneck, (3, 4, 23, 3), nn.filters, nn.classes)
