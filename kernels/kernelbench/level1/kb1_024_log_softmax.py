"""The logarithm of softmax over rows."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("rows", "cols")),
    small=dict(rows=2, cols=256),
    odd=dict(rows=3, cols=771),
    cpu=dict(rows=16, cols=16384),
    paper=dict(rows=4096, cols=393216),
    cut="rows",
)
def kb1_024_log_softmax(nn, x):
    return nn.log_softmax(x, 1)
