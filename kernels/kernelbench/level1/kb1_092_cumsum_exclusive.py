"""Sums of every row before each element."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("rows", "cols")),
    small=dict(rows=2, cols=64),
    odd=dict(rows=3, cols=131),
    cpu=dict(rows=64, cols=4096),
    paper=dict(rows=32768, cols=32768),
    cut="rows",
)
def kb1_092_cumsum_exclusive(nn, x):
    sums = nn.cumsum(nn.part(x, slice(None), slice(0, -1)), 1)
    return nn.concat([nn.zeros((nn.rows, 1)), sums], 1)
