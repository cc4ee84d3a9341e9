"""The different values of uint32 of every row in ascending order, and how often each occurs."""

from dataclasses import replace

import numpy as np

from metalbench.task import integers, output, task
from metalbench.task.families import LONG_ROWS, distinct_values, mlx_distinct_values


def drawn(random, shape, values):
    """Numbers of all sizes, most of them several times."""
    pool = random.integers(0, 2**32, max(1, shape[1] // 3), dtype=np.uint32)
    pool[:2] = 0, 2**32 - 1
    return pool[random.integers(0, len(pool), shape)]


repeated = replace(integers("rows", "cols", high=2**32), draw=drawn)


@task(
    sizes=LONG_ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=repeated),
    outputs=dict(
        values=output("rows", "cols", dtype="uint32"),
        lengths=output("rows", "cols", dtype="uint32"),
        number=output("rows", dtype="uint32"),
    ),
    oracle=distinct_values,
    flops="12 * rows * cols",
    baseline="mx.sort, mx.cumsum and mx.at[].add",
)
def unique_uint32(x):
    return mlx_distinct_values(x)
