"""Batch norm of images, by the statistics of the batch."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=16, width=16, channels=16),
    odd=dict(batch=3, height=17, width=19, channels=7),
    cpu=dict(batch=2, height=48, width=48, channels=32),
    paper=dict(batch=64, height=512, width=512, channels=64),
)
def kb1_033_batch_norm(nn, x):
    return nn.batch_norm(x, "bn")
