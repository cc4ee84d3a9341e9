"""Rows of a table that become the largest of their updates: y[i[j]] = max(y[i[j]], values[j])."""

from dataclasses import replace

import numpy as np

from metalbench.task import integers, normal, output, task
from metalbench.task.families import FLOATING


def drawn(random, shape, values):
    """Rows of the table, the first of them often and many never, as tokens of a text are."""
    return (values["rows"] * random.random(shape) ** 2).astype(np.uint32)


def updated(x, index, values):
    """Every update in its turn, however often its row is named."""
    y = x.copy()
    np.maximum.at(y, index.astype(np.int64), values)
    return y


@task(
    sizes=dict(
        small=dict(rows=64, cols=32, updates=96),
        odd1=dict(rows=37, cols=33, updates=101),
        odd2=dict(rows=130, cols=13, updates=40),
        # Most updates are of one row.
        odd3=dict(rows=2, cols=32, updates=5000),
        seed=dict(rows=2048, cols=256, updates=4096),
        large=dict(rows=32768, cols=512, updates=65536),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("rows", "cols"),
        index=replace(integers("updates", high="rows"), draw=drawn),
        values=normal("updates", "cols"),
    ),
    outputs=dict(y=output("rows", "cols")),
    oracle=updated,
    dtypes=FLOATING,
    flops="updates * cols",
    bytes="(2 * rows + updates) * cols * itemsize + 4 * updates",
    baseline="x.at[index].maximum",
)
def scatter_max(x, index, values):
    return x.at[index].maximum(values)
