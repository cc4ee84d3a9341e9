"""A product of lower triangular matrices, which is one."""

import numpy as np

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


def check(a, b):
    """A kernel need not read the zeros."""
    if np.any(a != np.tril(a)) or np.any(b != np.tril(b)):
        raise ValueError("expected zeros above the diagonal")


@problem(
    inputs=dict(a=rand("n", "n", like=np.tril), b=rand("n", "n", like=np.tril)),
    small=dict(n=48),
    odd=dict(n=53),
    cpu=dict(n=352),
    paper=dict(n=4096),
    check=check,
)
def kb1_015_matmul_for_lower_triangular_matrices(nn, a, b):
    return nn.multiply(nn.matmul(a, b), nn.triangle(nn.n))
