"""Elements of rows that are written by index: y = x, but y[r, index[r, c]] = values[r, c]."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task


def drawn(random, shape, values):
    """Places in a row, none of them twice: what is written there has no order."""
    rows, chosen = shape
    keys = random.random((rows, values["cols"]), dtype=np.float32)
    return np.argsort(keys, axis=1)[:, :chosen].astype(np.uint32)


def written(x, index, values):
    """The rows with the values at their places."""
    y = x.copy()
    np.put_along_axis(y, index.astype(np.int64), values, axis=1)
    return y


@task(
    sizes=dict(
        small=dict(rows=16, cols=64, chosen=32),
        odd1=dict(rows=37, cols=101, chosen=33),
        odd2=dict(rows=5, cols=1023, chosen=1023),
        seed=dict(rows=1024, cols=1024, chosen=512),
        large=dict(rows=8192, cols=4096, chosen=1024),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("rows", "cols"),
        index=replace(integers("rows", "chosen", high="cols"), draw=drawn, together=True),
        values=normal("rows", "chosen"),
    ),
    outputs=dict(y=output("rows", "cols")),
    draw=lambda random: dict(
        rows=int(random.integers(1, 257)),
        cols=(cols := int(random.integers(64, 1025))),
        chosen=int(random.integers(1, cols + 1)),
    ),
    oracle=written,
    dtypes=("float32", "float16", "bfloat16"),
    flops="0",
    bytes="rows * (2 * cols * itemsize + chosen * (4 + 2 * itemsize))",
    inout=dict(x="y"),
    inout_bytes="rows * chosen * (4 + 2 * itemsize)",
    baseline="mx.put_along_axis",
)
def put_along_axis(x, index, values):
    return mx.put_along_axis(x, index, values, axis=1)
