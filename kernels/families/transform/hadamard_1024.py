"""Hadamard transform of rows of 1024, which keeps their length."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, heavy_tailed, normal, output, sparse, task


def transformed(x, cols):
    """Sums and differences of halves, again and again."""
    y = x
    width = 1
    while width < cols:
        pairs = y.reshape(len(y), -1, 2, width)
        y = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        width *= 2
    return y.reshape(x.shape) / np.sqrt(cols)


@task(
    sizes=dict(
        small=dict(rows=8),
        odd1=dict(rows=5),
        odd2=dict(rows=37),
        seed=dict(rows=1024),
        large=dict(rows=16384),
    ),
    gpu_headlines=("large",),
    # Of a constant row all but one element cancel.
    inputs=dict(x=normal("rows", "cols").only(heavy_tailed(), even(), coarse(), sparse())),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(cols=1024),
    oracle=transformed,
    dtypes=("float32", "float16", "bfloat16"),
    flops="10 * rows * cols",
    baseline="mx.hadamard_transform",
)
def hadamard_1024(x, cols):
    return mx.hadamard_transform(x)
