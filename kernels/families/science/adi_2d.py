"""One step of the heat equation by alternating directions, whose border no heat passes."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.tridiagonal import reduce_cyclically, solve_tridiagonal

FIELD = ("batch", "rows", "cols")


def coefficients(xp, n, rate):
    """Return lower, diagonal and upper coefficients of 1 - rate differences: (n, 1) each."""
    place = xp.arange(n)[:, None]
    lower = -rate * (place > 0)
    upper = -rate * (place < n - 1)
    return lower, 1 - lower - upper, upper


def explicit_side(xp, u, rate):
    """Return u + rate differences along the last axis."""
    before = xp.concatenate([u[..., :1], u[..., :-1]], axis=-1)
    after = xp.concatenate([u[..., 1:], u[..., -1:]], axis=-1)
    return u + rate * ((before - u) + (after - u))


def solved_along_rows(u, rate):
    """Return the solutions of (1 - rate differences) x = u along the last axis."""
    lines = u.reshape(-1, u.shape[-1]).T
    return solve_tridiagonal(*coefficients(np, len(lines), rate), lines).T.reshape(u.shape)


def advanced(u, rate):
    """Implicit along rows and explicit along columns, then the other way round."""
    for _ in range(2):
        side = explicit_side(np, u.swapaxes(1, 2), rate / 2).swapaxes(1, 2)
        u = solved_along_rows(side, rate / 2).swapaxes(1, 2)
    return u


@task(
    sizes=dict(
        small=dict(batch=2, rows=24, cols=40),
        odd1=dict(batch=1, rows=129, cols=67),
        odd2=dict(batch=3, rows=7, cols=301),
        odd3=dict(batch=1, rows=1, cols=33),
        seed=dict(batch=1, rows=512, cols=512),
        large=dict(batch=16, rows=1024, cols=1024),
    ),
    gpu_headlines=("large",),
    inputs=dict(u=normal(*FIELD)),
    outputs=dict(y=output(*FIELD)),
    constants=dict(rate=3.0),
    oracle=advanced,
    scale=lambda u, rate: np.broadcast_to(np.abs(u).max(axis=(1, 2), keepdims=True), u.shape),
    flops="26 * batch * rows * cols",
    baseline="parallel cyclic reduction of shifted arrays, along rows and columns",
)
def adi_2d(u, rate):
    for _ in range(2):
        batch, _, cols = u.shape
        side = explicit_side(mx, u.swapaxes(1, 2), rate / 2).swapaxes(1, 2)
        line = [each.T for each in coefficients(mx, cols, rate / 2)]
        found = reduce_cyclically(*line, side.reshape(-1, cols), 1)
        u = found.reshape(batch, -1, cols).swapaxes(1, 2)
    return u
