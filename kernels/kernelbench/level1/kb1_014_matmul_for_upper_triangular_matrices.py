"""A product of upper triangular matrices, which is one."""

import numpy as np

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


def check(a, b):
    """A kernel need not read the zeros."""
    if np.any(a != np.triu(a)) or np.any(b != np.triu(b)):
        raise ValueError("expected zeros below the diagonal")


@problem(
    inputs=dict(a=rand("n", "n", like=np.triu), b=rand("n", "n", like=np.triu)),
    small=dict(n=48),
    odd=dict(n=53),
    cpu=dict(n=352),
    paper=dict(n=4096),
    check=check,
)
def kb1_014_matmul_for_upper_triangular_matrices(nn, a, b):
    return nn.multiply(nn.matmul(a, b), nn.swapped(nn.triangle(nn.n)))
