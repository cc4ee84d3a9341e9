"""Maxima of 3 x 3 x 3 voxels 3 apart, in steps of 2, padded by 1."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=16, height=16, width=16, channels=4),
    odd=dict(batch=3, depth=17, height=19, width=21, channels=5),
    cpu=dict(batch=1, depth=24, height=24, width=24, channels=16),
    paper=dict(batch=16, depth=128, height=128, width=128, channels=32),
)
def kb1_043_max_pooling_3d(nn, x):
    return nn.max_pool(x, (3, 3, 3), (2, 2, 2), (1, 1, 1), dilation=(3, 3, 3))
