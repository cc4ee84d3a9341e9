"""A product of symmetric matrices."""

import numpy as np

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


def symmetric(values):
    """The mean of a matrix and its transpose."""
    return (values + values.T) / 2


def check(a, b):
    """A kernel may use the symmetry and read one half."""
    if not (np.array_equal(a, a.T) and np.array_equal(b, b.T)):
        raise ValueError("expected symmetric matrices")


@problem(
    inputs=dict(a=rand("n", "n", like=symmetric), b=rand("n", "n", like=symmetric)),
    small=dict(n=48),
    odd=dict(n=53),
    cpu=dict(n=352),
    paper=dict(n=4096),
    check=check,
)
def kb1_013_matmul_for_symmetric_matrices(nn, a, b):
    return nn.matmul(a, b)
