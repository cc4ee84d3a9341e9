"""VGG-19, its first stage `filters` wide."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import vgg
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "side", "side", 3)),
    small=dict(batch=2, side=32, filters=4, hidden=32, classes=10),
    odd=dict(batch=1, side=37, filters=5, hidden=33, classes=11),
    cpu=dict(batch=1, side=32, filters=6, hidden=128, classes=100),
    paper=dict(batch=10, side=224, filters=64, hidden=4096, classes=1000),
)
def kb3_012_vgg19(nn, x):
    return vgg(nn, x, (2, 2, 4, 4, 4))
