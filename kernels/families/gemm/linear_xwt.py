"""Linear layer as models store it: x W^T, a row of W for each output."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(rows=32, inner=32, outputs=64),
        odd1=dict(rows=37, inner=65, outputs=23),
        odd2=dict(rows=5, inner=129, outputs=67),
        seed=dict(rows=256, inner=512, outputs=512),
        large=dict(rows=2048, inner=2048, outputs=2048),
    ),
    gpu_headline="large",
    inputs=dict(x=normal("rows", "inner"), w=normal("outputs", "inner")),
    outputs=dict(y=output("rows", "outputs")),
    oracle=lambda x, w: x @ w.T,
    scale=lambda x, w: np.abs(x) @ np.abs(w).T,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * rows * inner * outputs",
    baseline="x @ w.T",
)
def linear_xwt(x, w):
    return mx.matmul(x, w.T)
