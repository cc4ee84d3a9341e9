"""Whether all truth values of every row are set."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import integers, output, task
from metalbench.task.families import ROWS


def drawn(random, shape, values):
    """Rows of which one value in three rows is unlike all others, at a random place."""
    rows = np.full(shape, True)
    chosen = np.flatnonzero(random.random(shape[0]) < 0.4)
    rows[chosen, random.integers(0, shape[1], len(chosen))] = False
    return rows


@task(
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=replace(integers("rows", "cols", high=2, dtype="bool"), draw=drawn)),
    outputs=dict(y=output("rows", dtype="bool")),
    oracle=lambda x: x.all(axis=-1),
    flops="rows * cols",
    baseline="mx.all",
)
def all_rows(x):
    return mx.all(x, axis=-1)
