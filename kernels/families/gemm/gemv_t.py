"""Vector times matrix: sums down its columns."""

import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(rows=64, cols=128),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=1025, cols=5),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=4096, cols=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows"), a=normal("rows", "cols")),
    outputs=dict(y=output("cols")),
    oracle=lambda x, a: x @ a,
    scale=lambda x, a: np.abs(x) @ np.abs(a),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * rows * cols",
    baseline="x @ a",
)
def gemv_t(x, a):
    return x @ a
