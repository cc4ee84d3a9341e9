"""A product of matrices of irregular extents."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(a=rand("m", "k"), b=rand("k", "n")),
    small=dict(m=32, k=64, n=48),
    odd=dict(m=37, k=61, n=53),
    cpu=dict(m=309, k=389, n=343),
    paper=dict(m=8205, k=2949, n=5921),
    cut="m",
    outputs=("c",),
)
def kb1_008_matmul_with_irregular_shapes(nn, a, b):
    return nn.matmul(a, b)
