"""A product of matrices with a very long inner extent."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(a=rand("m", "k"), b=rand("k", "n")),
    small=dict(m=8, k=1024, n=8),
    odd=dict(m=7, k=1031, n=11),
    cpu=dict(m=32, k=32768, n=32),
    paper=dict(m=256, k=524288, n=256),
    cut="m",
    outputs=("c",),
)
def kb1_006_matmul_with_large_k_dimension(nn, a, b):
    return nn.matmul(a, b)
