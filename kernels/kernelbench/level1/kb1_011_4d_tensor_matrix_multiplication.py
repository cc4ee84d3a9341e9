"""The last axis of four by a matrix."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(a=rand("batch", "rows", "cols", "k"), b=rand("k", "n")),
    small=dict(batch=2, rows=4, cols=6, k=16, n=12),
    odd=dict(batch=3, rows=3, cols=5, k=17, n=13),
    cpu=dict(batch=2, rows=16, cols=32, k=128, n=256),
    paper=dict(batch=8, rows=256, cols=512, k=256, n=768),
)
def kb1_011_4d_tensor_matrix_multiplication(nn, a, b):
    return nn.matmul(a, b)
