"""Means of 3 x 3 x 3 voxels in steps of 2, zeros around included."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=4),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=5),
    cpu=dict(batch=1, depth=24, height=24, width=24, channels=16),
    paper=dict(batch=16, depth=128, height=128, width=256, channels=32),
)
def kb1_046_average_pooling_3d(nn, x):
    return nn.avg_pool(x, (3, 3, 3), (2, 2, 2), (1, 1, 1))
