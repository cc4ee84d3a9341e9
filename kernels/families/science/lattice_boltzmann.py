"""Four steps of the lattice Boltzmann method (D2Q9) around solid cells, borders periodic."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import integers, output, task, uniform

VELOCITIES = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
OPPOSITE = (0, 3, 4, 1, 2, 7, 8, 5, 6)
WEIGHTS = (4 / 9, *[1 / 9] * 4, *[1 / 36] * 4)


def drawn(random, shape, values):
    """One in ten cells is solid."""
    return (random.random(shape) < 0.1).astype(np.uint8)


def advanced(xp, f, solid, omega, steps):
    """Return the populations after `steps`, with the functions of NumPy or MLX."""
    solid = solid != 0
    for _ in range(steps):
        moved = []
        for i, (x, y) in enumerate(VELOCITIES):
            comes = xp.roll(f[i], (y, x), (0, 1))
            is_from_wall = xp.roll(solid, (y, x), (0, 1))
            moved.append(xp.where(is_from_wall, f[OPPOSITE[i]], comes))
        density = sum(moved)
        u = sum(x * each for (x, _), each in zip(VELOCITIES, moved, strict=True)) / density
        v = sum(y * each for (_, y), each in zip(VELOCITIES, moved, strict=True)) / density
        after = []
        for (x, y), weight, each in zip(VELOCITIES, WEIGHTS, moved, strict=True):
            along = x * u + y * v
            factor = 1 + 3 * along + 4.5 * along**2 - 1.5 * (u**2 + v**2)
            after.append(each + omega * (weight * density * factor - each))
        f = xp.where(solid, f, xp.stack(after))
    return f


@task(
    sizes=dict(
        small=dict(rows=16, cols=40),
        odd1=dict(rows=37, cols=65),
        odd2=dict(rows=5, cols=129),
        seed=dict(rows=256, cols=256),
        large=dict(rows=2048, cols=2048),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        f=uniform(9, "rows", "cols", low=0.05, high=0.15),
        solid=replace(integers("rows", "cols", high=2, dtype="uint8"), draw=drawn),
    ),
    outputs=dict(y=output(9, "rows", "cols")),
    constants=dict(omega=1.2, steps=4),
    oracle=lambda f, solid, omega, steps: advanced(np, f, solid, omega, steps),
    flops="steps * 110 * rows * cols",
    bytes="steps * 73 * rows * cols",
    baseline="mx.roll of each population, 4 times",
)
def lattice_boltzmann(f, solid, omega, steps):
    return advanced(mx, f, solid, omega, steps)
