"""Whether any truth value of every row is set."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import integers, output, task
from metalbench.task.families import ROWS


def drawn(random, shape, values):
    """Rows of which one value in three rows is unlike all others, at a random place."""
    rows = np.full(shape, False)
    chosen = np.flatnonzero(random.random(shape[0]) < 0.4)
    rows[chosen, random.integers(0, shape[1], len(chosen))] = True
    return rows


@task(
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=replace(integers("rows", "cols", high=2, dtype="bool"), draw=drawn)),
    outputs=dict(y=output("rows", dtype="bool")),
    oracle=lambda x: x.any(axis=-1),
    flops="rows * cols",
    baseline="mx.any",
)
def any_rows(x):
    return mx.any(x, axis=-1)
