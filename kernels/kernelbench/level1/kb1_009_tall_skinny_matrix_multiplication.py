"""A tall matrix by a wide one."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(a=rand("m", "k"), b=rand("k", "n")),
    small=dict(m=64, k=8, n=64),
    odd=dict(m=67, k=9, n=67),
    cpu=dict(m=768, k=32, n=768),
    paper=dict(m=32768, k=32, n=32768),
    cut="m",
    outputs=("c",),
)
def kb1_009_tall_skinny_matrix_multiplication(nn, a, b):
    return nn.matmul(a, b)
