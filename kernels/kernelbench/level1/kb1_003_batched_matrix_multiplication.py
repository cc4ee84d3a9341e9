"""A batch of products of matrices."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(a=rand("batch", "m", "k"), b=rand("batch", "k", "n")),
    small=dict(batch=2, m=16, k=32, n=24),
    odd=dict(batch=3, m=17, k=29, n=23),
    cpu=dict(batch=8, m=96, k=192, n=256),
    paper=dict(batch=128, m=512, k=1024, n=2048),
    outputs=("c",),
)
def kb1_003_batched_matrix_multiplication(nn, a, b):
    return nn.matmul(a, b)
