"""Maxima of 8 places 3 apart, padded by 4."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "length", "channels")),
    small=dict(batch=2, length=64, channels=16),
    odd=dict(batch=3, length=101, channels=7),
    cpu=dict(batch=2, length=2048, channels=32),
    paper=dict(batch=64, length=65536, channels=192),
)
def kb1_041_max_pooling_1d(nn, x):
    return nn.max_pool(x, (8,), (1,), (4,), dilation=(3,))
