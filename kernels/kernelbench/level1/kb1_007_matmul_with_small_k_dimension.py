"""A product of matrices with a short inner extent."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(a=rand("m", "k"), b=rand("k", "n")),
    small=dict(m=96, k=16, n=96),
    odd=dict(m=67, k=13, n=83),
    cpu=dict(m=768, k=64, n=768),
    paper=dict(m=32768, k=64, n=32768),
    cut="m",
    outputs=("c",),
)
def kb1_007_matmul_with_small_k_dimension(nn, a, b):
    return nn.matmul(a, b)
