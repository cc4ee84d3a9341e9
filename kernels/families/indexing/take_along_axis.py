"""One element of each column's choice: y[r, c] = x[r, index[r, c]]."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task


@task(
    sizes=dict(
        small=dict(rows=16, cols=64, chosen=32),
        odd1=dict(rows=37, cols=101, chosen=33),
        odd2=dict(rows=5, cols=1023, chosen=1030),
        seed=dict(rows=1024, cols=1024, chosen=512),
        large=dict(rows=8192, cols=4096, chosen=1024),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols"), index=integers("rows", "chosen", high="cols")),
    outputs=dict(y=output("rows", "chosen")),
    oracle=lambda x, index: np.take_along_axis(x, index.astype(np.int64), axis=1),
    dtypes=("float32", "float16", "bfloat16"),
    flops="0",
    bytes="rows * chosen * (4 + 2 * itemsize)",
    baseline="mx.take_along_axis",
)
def take_along_axis(x, index):
    return mx.take_along_axis(x, index, axis=1)
