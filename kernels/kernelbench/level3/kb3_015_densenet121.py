"""DenseNet-121 without its narrow convolutions."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import densenet
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "side", "side", 3)),
    small=dict(batch=8, side=64, growth=1, classes=10),
    odd=dict(batch=5, side=69, growth=2, classes=7),
    cpu=dict(batch=4, side=64, growth=1, classes=10),
    paper=dict(batch=10, side=224, growth=32, classes=10),
    depth=100,
)
def kb3_015_densenet121(nn, x):
    return densenet(nn, x, (6, 12, 24, 16), nn.growth, nn.classes)
