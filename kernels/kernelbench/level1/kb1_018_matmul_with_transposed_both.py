"""A product of matrices, both transposed."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(a=rand("k", "m"), b=rand("n", "k")),
    small=dict(m=32, k=64, n=48),
    odd=dict(m=37, k=61, n=53),
    cpu=dict(m=256, k=512, n=320),
    paper=dict(m=2048, k=8192, n=4096),
)
def kb1_018_matmul_with_transposed_both(nn, a, b):
    return nn.matmul(nn.swapped(a), nn.swapped(b))
