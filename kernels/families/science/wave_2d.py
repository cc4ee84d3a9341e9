"""Eight leapfrog steps of the wave equation with a speed for each cell, border reflecting."""

import mlx.core as mx

from metalbench.task import normal, output, task, uniform
from metalbench.task.grids import sum_differences

GRID = ("rows", "cols")


def advanced(before, now, speed, rate, steps):
    """Return the last two fields: next = 2 now - before + rate speed^2 (differences)."""
    for _ in range(steps):
        before, now = now, 2 * now - before + rate * speed**2 * sum_differences(now)
    return before, now


@task(
    sizes=dict(
        small=dict(rows=40, cols=60),
        odd1=dict(rows=129, cols=37),
        odd2=dict(rows=7, cols=301),
        seed=dict(rows=512, cols=512),
        large=dict(rows=4096, cols=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        before=normal(*GRID),
        now=normal(*GRID),
        speed=uniform(*GRID, low=0.5, high=1.0),
    ),
    outputs=dict(y_before=output(*GRID), y=output(*GRID)),
    # rate speed^2 <= 1 / 2: stable (Courant, Friedrichs, Lewy).
    constants=dict(rate=0.4, steps=8),
    oracle=advanced,
    flops="steps * 12 * rows * cols",
    baseline="differences of shifted arrays, 8 times",
)
def wave_2d(before, now, speed, rate, steps):
    factors = rate * speed * speed
    for _ in range(steps):
        padded = mx.pad(now, 1, mode="edge")
        beside = padded[1:-1, :-2] + padded[1:-1, 2:]
        above = padded[:-2, 1:-1] + padded[2:, 1:-1]
        sums = beside + above - 4 * now
        before, now = now, 2 * now - before + factors * sums
    return before, now
