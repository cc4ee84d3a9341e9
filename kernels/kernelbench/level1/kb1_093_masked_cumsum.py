"""Sums of every row up to each element, where a mask says so."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand
from metalbench.task import integers


@problem(
    inputs=dict(x=rand("rows", "cols"), mask=integers("rows", "cols", high=2, dtype="bool")),
    small=dict(rows=2, cols=64),
    odd=dict(rows=3, cols=131),
    cpu=dict(rows=64, cols=4096),
    paper=dict(rows=32768, cols=32768),
    cut="rows",
)
def kb1_093_masked_cumsum(nn, x, mask):
    return nn.cumsum(nn.multiply(x, mask), 1)
