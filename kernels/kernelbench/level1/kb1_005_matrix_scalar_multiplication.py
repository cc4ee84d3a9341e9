"""A matrix times 3.14."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(a=rand("m", "n")),
    small=dict(m=32, n=64),
    odd=dict(m=37, n=61),
    cpu=dict(m=512, n=1024),
    paper=dict(m=65536, n=16384),
    cut="m",
)
def kb1_005_matrix_scalar_multiplication(nn, a):
    return nn.multiply(a, 3.14)
