"""Four explicit steps of the heat equation in a box whose border no heat passes."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING
from metalbench.task.grids import advance_heat

BOX = ("depth", "rows", "cols")


@task(
    sizes=dict(
        small=dict(depth=9, rows=20, cols=40),
        odd1=dict(depth=67, rows=13, cols=29),
        odd2=dict(depth=3, rows=37, cols=7),
        seed=dict(depth=64, rows=64, cols=64),
        large=dict(depth=256, rows=256, cols=256),
    ),
    gpu_headlines=("large",),
    inputs=dict(u=normal(*BOX)),
    outputs=dict(y=output(*BOX)),
    constants=dict(rate=0.15, steps=4),
    oracle=advance_heat,
    # Weights of cells are not negative, as rate <= 1 / 6.
    scale=lambda u, rate, steps: advance_heat(np.abs(u), rate, steps),
    dtypes=FLOATING,
    flops="steps * 13 * depth * rows * cols",
    baseline="differences of shifted arrays, 4 times",
)
def heat_3d(u, rate, steps):
    y = u.astype(mx.float32)
    for _ in range(steps):
        padded = mx.pad(y, 1, mode="edge")
        along = padded[:-2, 1:-1, 1:-1] + padded[2:, 1:-1, 1:-1]
        behind = padded[1:-1, :-2, 1:-1] + padded[1:-1, 2:, 1:-1]
        beside = padded[1:-1, 1:-1, :-2] + padded[1:-1, 1:-1, 2:]
        y = y + rate * (along + behind + beside - 6 * y)
    return y.astype(u.dtype)
