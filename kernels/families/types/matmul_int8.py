"""Products of bytes with 32-bit sums, times a scale of the row and one of the column."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, output, task, uniform
from metalbench.task.families import FLOATING

BYTES = dict(low=-127, high=128, dtype="int8")


def product(x, w, x_scales, w_scales):
    sums = x.astype(np.float64) @ w.astype(np.float64).T
    return sums * (x_scales[:, None] * w_scales)


@task(
    sizes=dict(
        small=dict(rows=32, cols=48, inner=64),
        odd1=dict(rows=37, cols=53, inner=100),
        odd2=dict(rows=65, cols=129, inner=36),
        one=dict(rows=1, cols=5, inner=4),
        seed=dict(rows=256, cols=512, inner=512),
        large=dict(rows=2048, cols=4096, inner=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=integers("rows", "inner", **BYTES),
        w=integers("cols", "inner", **BYTES),
        x_scales=uniform("rows", low=0.001, high=0.1).in_type("float32"),
        w_scales=uniform("cols", low=0.001, high=0.1).in_type("float32"),
    ),
    outputs=dict(y=output("rows", "cols")),
    oracle=product,
    dtypes=FLOATING,
    multiples=dict(inner=4),
    flops="2 * rows * cols * inner",
    baseline="a product in float32, which is exact to 2^24",
)
def matmul_int8(x, w, x_scales, w_scales):
    sums = x.astype(mx.float32) @ w.astype(mx.float32).T
    return sums * (x_scales[:, None] * w_scales)
