"""A diagonal matrix, given as a vector, by a matrix."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(a=rand("n"), b=rand("n", "m")),
    small=dict(n=48, m=32),
    odd=dict(n=53, m=37),
    cpu=dict(n=768, m=768),
    paper=dict(n=4096, m=4096),
)
def kb1_012_matmul_with_diagonal_matrices(nn, a, b):
    return nn.multiply(nn.reshape(a, (-1, 1)), b)
