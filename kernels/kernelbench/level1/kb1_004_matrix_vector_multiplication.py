"""A matrix by a vector, which is one column."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(a=rand("m", "k"), b=rand("k", 1)),
    small=dict(m=16, k=1024),
    odd=dict(m=17, k=1031),
    cpu=dict(m=64, k=65536),
    paper=dict(m=2048, k=1048576),
    cut="m",
)
def kb1_004_matrix_vector_multiplication(nn, a, b):
    return nn.matmul(a, b)
