"""A linear layer without bias: x W^T, weights a row for each feature."""

import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(rows=16, features=32, inner=32),
        odd1=dict(rows=37, features=41, inner=29),
        odd2=dict(rows=129, features=130, inner=131),
        seed=dict(rows=256, features=512, inner=512),
        large=dict(rows=4096, features=4096, inner=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "inner"), w=normal("features", "inner")),
    outputs=dict(y=output("rows", "features")),
    oracle=lambda x, w: x @ w.T,
    scale=lambda x, w: np.abs(x) @ np.abs(w).T,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * rows * features * inner",
    baseline="x @ w.T",
)
def linear_xwt(x, w):
    return x @ w.T
