"""Maxima of 4 x 4 pixels around each, padded by 1."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=8, width=8, channels=4),
    odd=dict(batch=3, height=11, width=13, channels=5),
    cpu=dict(batch=2, height=32, width=32, channels=32),
    paper=dict(batch=32, height=512, width=512, channels=64),
)
def kb1_042_max_pooling_2d(nn, x):
    return nn.max_pool(x, (4, 4), (1, 1), (1, 1))
