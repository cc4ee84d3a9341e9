"""A dense block of six layers."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import dense_block
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=9, width=7, channels=5, growth=3),
    odd=dict(batch=3, height=8, width=11, channels=4, growth=5),
    cpu=dict(batch=1, height=16, width=16, channels=16, growth=16),
    paper=dict(batch=10, height=224, width=224, channels=32, growth=32),
)
def kb3_014_densenet121_dense_block(nn, x):
    return dense_block(nn, x, "", 6, nn.growth)
