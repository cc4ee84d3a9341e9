"""Means of blocks of 11 x 11 pixels."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=24, width=24, channels=4),
    odd=dict(batch=3, height=37, width=35, channels=5),
    cpu=dict(batch=1, height=112, width=112, channels=32),
    paper=dict(batch=16, height=2048, width=2048, channels=64),
)
def kb1_045_average_pooling_2d(nn, x):
    return nn.avg_pool(x, (11, 11), (11, 11), (0, 0))
