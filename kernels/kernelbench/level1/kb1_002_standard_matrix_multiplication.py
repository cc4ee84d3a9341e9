"""A product of matrices."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(a=rand("m", "k"), b=rand("k", "n")),
    small=dict(m=32, k=64, n=48),
    odd=dict(m=37, k=61, n=53),
    cpu=dict(m=256, k=512, n=320),
    paper=dict(m=2048, k=8192, n=4096),
    cut="m",
    outputs=("c",),
)
def kb1_002_standard_matrix_multiplication(nn, a, b):
    return nn.matmul(a, b)
