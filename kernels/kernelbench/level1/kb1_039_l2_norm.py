"""x over the Euclidean norm of its row."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("rows", "cols")),
    small=dict(rows=2, cols=256),
    odd=dict(rows=3, cols=771),
    cpu=dict(rows=16, cols=16383),
    paper=dict(rows=32768, cols=65535),
    cut="rows",
    depth=4,
)
def kb1_039_l2_norm(nn, x):
    return nn.divide(x, nn.root_of_squares(x, 1, keep=True))
