"""A sparse matrix with as many places in every row (ELLPACK) times a vector."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task
from metalbench.task.families import FLOATING


def drawn(random, shape, values):
    """Columns; in a third of the places UINT_MAX, which is beyond the matrix."""
    columns = random.integers(0, values["cols"], shape, dtype=np.uint32)
    return np.where(random.random(shape) < 1 / 3, np.uint32(0xFFFFFFFF), columns)


def multiplied(columns, values, x):
    """Place by place."""
    is_used = columns < len(x)
    taken = x[np.where(is_used, columns, 0).astype(np.int64)]
    return np.where(is_used, values * taken, 0).sum(axis=0)


@task(
    sizes=dict(
        small=dict(rows=100, cols=80, places=9),
        odd1=dict(rows=37, cols=1023, places=65),
        odd2=dict(rows=301, cols=7, places=3),
        seed=dict(rows=16384, cols=16384, places=16),
        large=dict(rows=524288, cols=524288, places=16),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        columns=replace(integers("places", "rows", high="cols"), draw=drawn),
        values=normal("places", "rows"),
        x=normal("cols"),
    ),
    outputs=dict(y=output("rows")),
    oracle=multiplied,
    scale=lambda columns, values, x: multiplied(columns, np.abs(values), np.abs(x)),
    dtypes=FLOATING,
    flops="2 * places * rows",
    baseline="mx.where(columns < cols, values * x[columns], 0).sum(axis=0)",
)
def ell_spmv(columns, values, x):
    is_used = columns < len(x)
    taken = x[mx.where(is_used, columns, 0)].astype(mx.float32)
    terms = mx.where(is_used, values.astype(mx.float32) * taken, 0)
    return terms.sum(axis=0).astype(x.dtype)
