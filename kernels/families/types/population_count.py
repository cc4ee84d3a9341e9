"""How many bits of each number are set, elementwise."""

import numpy as np

from metalbench.task import integers
from metalbench.task.families import count_set_bits, elementwise

population_count = elementwise(
    "population_count",
    lambda x: count_set_bits(x),
    lambda x: np.unpackbits(x.view(np.uint8).reshape(*x.shape, 4), axis=-1).sum(axis=-1),
    baseline="shifts, masks and sums",
    flops=12,
    dtype="uint32",
    x=integers("rows", "cols", high=2**32),
)
