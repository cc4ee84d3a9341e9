"""A product of square matrices."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(a=rand("n", "n"), b=rand("n", "n")),
    small=dict(n=48),
    odd=dict(n=53),
    cpu=dict(n=352),
    paper=dict(n=4096),
    outputs=("c",),
)
def kb1_001_square_matrix_multiplication(nn, a, b):
    return nn.matmul(a, b)
