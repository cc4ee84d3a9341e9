"""The smallest along the middle axis."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "rows", "cols")),
    small=dict(batch=2, rows=16, cols=16),
    odd=dict(batch=3, rows=17, cols=19),
    cpu=dict(batch=2, rows=256, cols=511),
    paper=dict(batch=128, rows=4096, cols=4095),
)
def kb1_053_min_reduction_over_a_dimension(nn, x):
    return nn.min(x, 1)
