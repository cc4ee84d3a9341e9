"""Rows scaled to -127..127, and their scales."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def oracle(x):
    s = np.abs(x).max(-1, keepdims=True) / 127
    return x / np.where(s > 0, s, 1)


@task(
    sizes=dict(small=dict(rows=40, n=32), odd=dict(rows=35, n=16), seed=dict(rows=4096, n=32)),
    inputs=dict(x=normal("rows", "n")),
    outputs=dict(y=output("rows", "n")),
    oracle=oracle,
    flops="2 * rows * n",
)
def scaled_rows(x):
    s = mx.max(mx.abs(x), axis=-1, keepdims=True) / 127
    return x / mx.where(s > 0, s, 1)
