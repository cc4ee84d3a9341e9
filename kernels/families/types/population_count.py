"""How many bits of each number are set, elementwise."""

import numpy as np

from metalbench.task import integers
from metalbench.task.families import elementwise


def by_halves(x):
    """Sums of neighbouring bits, pairs, and so on."""
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F
    x = x + (x >> 8)
    return (x + (x >> 16)) & 63


population_count = elementwise(
    "population_count",
    by_halves,
    lambda x: np.unpackbits(x.view(np.uint8).reshape(*x.shape, 4), axis=-1).sum(axis=-1),
    baseline="shifts, masks and sums",
    flops=12,
    dtype="uint32",
    x=integers("rows", "cols", high=2**32),
)
