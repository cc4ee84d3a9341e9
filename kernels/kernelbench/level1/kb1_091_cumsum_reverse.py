"""Sums of every row from each element on."""

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
def kb1_091_cumsum_reverse(nn, x):
    return nn.flip(nn.cumsum(nn.flip(x, 1), 1), 1)
