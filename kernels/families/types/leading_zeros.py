"""How many bits of each number are zero above its first that is not, elementwise."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import integers
from metalbench.task.families import count_set_bits, elementwise


def drawn(random, shape, values):
    """Numbers of every length in bits, zero too."""
    numbers = random.integers(0, 2**32, shape, dtype=np.uint64)
    return (numbers >> random.integers(0, 33, shape, dtype=np.uint64)).astype(np.uint32)


def by_length(x):
    """Return 32 less the length in bits, found by comparisons with the powers of two."""
    powers = np.uint64(1) << np.arange(33, dtype=np.uint64)
    return 32 - np.searchsorted(powers, x.astype(np.uint64), side="right")


def by_smearing(x):
    """Every bit below the first is set, and those that are not are counted."""
    for distance in (1, 2, 4, 8, 16):
        x = x | (x >> distance)
    return count_set_bits(mx.bitwise_invert(x))


leading_zeros = elementwise(
    "leading_zeros",
    by_smearing,
    by_length,
    baseline="shifts, masks and sums",
    flops=24,
    dtype="uint32",
    x=replace(integers("rows", "cols", high=2**32), draw=drawn),
)
