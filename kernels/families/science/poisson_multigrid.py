"""One V-cycle of multigrid for Poisson's equation on a square with zeros on its border."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task

GRIDS = ("batch", "n", "n")
DAMPING = 0.8 / 4


def sum_neighbours(xp, u):
    """Return the sums of the four neighbours, zeros beyond the border."""
    padded = xp.pad(u, [(0, 0), (1, 1), (1, 1)])
    behind = padded[:, :-2, 1:-1] + padded[:, 2:, 1:-1]
    return behind + (padded[:, 1:-1, :-2] + padded[:, 1:-1, 2:])


def sweep(xp, u, side):
    """Return u after a damped sweep of Jacobi's method."""
    return u + DAMPING * (side + sum_neighbours(xp, u) - 4 * u)


def restrict(xp, residual):
    """Return the full weighting of residuals, times four."""
    top, middle, bottom = residual[:, :-2:2], residual[:, 1:-1:2], residual[:, 2::2]
    rows = top + 2 * middle + bottom
    return (rows[:, :, :-2:2] + 2 * rows[:, :, 1:-1:2] + rows[:, :, 2::2]) / 4


def interpolate(xp, coarse):
    """Return the bilinear interpolation on a grid with 2 n + 1 cells on a side."""
    for _ in range(2):
        padded = xp.pad(coarse, [(0, 0), (1, 1), (0, 0)])
        batch, _, cols = padded.shape
        between = (padded[:, :-1] + padded[:, 1:]) / 2
        pairs = xp.stack([between[:, :-1], coarse], axis=2).reshape(batch, -1, cols)
        coarse = xp.concatenate([pairs, between[:, -1:]], axis=1).swapaxes(1, 2)
    return coarse


def cycle(xp, side):
    """Return the result of a V-cycle from zero: two sweeps down and two up on each grid."""
    if side.shape[-1] == 1:
        return side / 4
    u = sweep(xp, DAMPING * side, side)
    coarse = restrict(xp, side + sum_neighbours(xp, u) - 4 * u)
    u = u + interpolate(xp, cycle(xp, coarse))
    return sweep(xp, sweep(xp, u, side), side)


@task(
    sizes=dict(
        small=dict(batch=2, n=15),
        odd1=dict(batch=3, n=31),
        odd2=dict(batch=1, n=63),
        seed=dict(batch=4, n=127),
        large=dict(batch=64, n=255),
    ),
    gpu_headlines=("large",),
    draw=lambda random: dict(
        batch=int(random.integers(1, 5)), n=2 ** int(random.integers(4, 8)) - 1
    ),
    inputs=dict(f=normal(*GRIDS)),
    outputs=dict(y=output(*GRIDS)),
    oracle=lambda f: cycle(np, f),
    scale=lambda f: np.broadcast_to(cycle(np, np.abs(f)).max(axis=(1, 2), keepdims=True), f.shape),
    flops="50 * batch * n * n",
    baseline="sweeps, restriction and interpolation by shifted arrays",
)
def poisson_multigrid(f):
    return cycle(mx, f)
