"""Means of 8 places, zeros around included."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "length", "channels")),
    small=dict(batch=2, length=64, channels=4),
    odd=dict(batch=3, length=101, channels=5),
    cpu=dict(batch=2, length=2048, channels=32),
    paper=dict(batch=64, length=65536, channels=128),
)
def kb1_044_average_pooling_1d(nn, x):
    return nn.avg_pool(x, (8,), (1,), (4,))
