"""Sixteen explicit steps of the heat equation on a grid whose border no heat passes."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING
from metalbench.task.grids import advance_heat


@task(
    sizes=dict(
        small=dict(rows=40, cols=56),
        odd1=dict(rows=129, cols=37),
        odd2=dict(rows=7, cols=301),
        seed=dict(rows=512, cols=512),
        large=dict(rows=4096, cols=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(u=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(rate=0.2, steps=16),
    oracle=advance_heat,
    # Weights of cells are not negative, as rate <= 1 / 4.
    scale=lambda u, rate, steps: advance_heat(np.abs(u), rate, steps),
    dtypes=FLOATING,
    flops="steps * 9 * rows * cols",
    baseline="differences of shifted arrays, 16 times",
)
def heat_2d(u, rate, steps):
    y = u.astype(mx.float32)
    for _ in range(steps):
        padded = mx.pad(y, 1, mode="edge")
        beside = padded[1:-1, :-2] + padded[1:-1, 2:]
        above = padded[:-2, 1:-1] + padded[2:, 1:-1]
        y = y + rate * (beside + above - 4 * y)
    return y.astype(u.dtype)
