"""ResNet's block of two convolutions."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import basic_block
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=13, width=11, channels=3, filters=8),
    odd=dict(batch=3, height=9, width=15, channels=5, filters=7),
    cpu=dict(batch=1, height=24, width=24, channels=3, filters=32),
    paper=dict(batch=10, height=224, width=224, channels=3, filters=64),
)
def kb3_008_resnet_basic_block(nn, x):
    return basic_block(nn, x, "", nn.filters, 1, shortcut=True)
