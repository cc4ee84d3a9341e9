"""Where the smallest along the middle axis is, first of several."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "rows", "cols")),
    small=dict(batch=2, rows=16, cols=16),
    odd=dict(batch=3, rows=17, cols=19),
    cpu=dict(batch=2, rows=256, cols=511),
    paper=dict(batch=128, rows=4096, cols=4095),
    indices=True,
)
def kb1_052_argmin_over_a_dimension(nn, x):
    return nn.argmin(x, 1)
