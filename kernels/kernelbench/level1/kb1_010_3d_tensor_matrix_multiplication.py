"""Every matrix of a batch by the same matrix."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(a=rand("batch", "m", "k"), b=rand("k", "n")),
    small=dict(batch=2, m=16, k=32, n=24),
    odd=dict(batch=3, m=17, k=31, n=23),
    cpu=dict(batch=4, m=96, k=256, n=192),
    paper=dict(batch=16, m=1024, k=2048, n=768),
)
def kb1_010_3d_tensor_matrix_multiplication(nn, a, b):
    return nn.matmul(a, b)
