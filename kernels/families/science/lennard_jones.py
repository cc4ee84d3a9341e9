"""Forces and energies of particles with a shifted Lennard-Jones potential in a periodic box."""

from dataclasses import replace

import mlx.core as mx
import numpy as np
import scipy.spatial

from metalbench.task import normal, output, task

# The box has SPACING for each particle of an edge. It is exact in float32.
SPACING, CUTOFF = 1.125, 2.5
LAST = CUTOFF**-6
LAST_FORCE = 24 * (2 * LAST**2 - LAST) / CUTOFF
BLOCK = 256


def drawn(random, shape, values):
    """Particles of a cubic lattice, moved by at most a tenth of its spacing, in random order."""
    side = values["side"]
    places = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    moved = random.permutation(places) + random.uniform(-0.1, 0.1, shape)
    inside = (np.mod(moved + 0.5, side) * SPACING).astype(np.float32)
    return np.where(inside >= np.float32(side * SPACING), np.float32(0), inside)


def pair_terms(away):
    """Return what pairs `away` from each other (pairs, 3) add to forces and to energies."""
    square = (away**2).sum(axis=-1)
    inverse = 1 / square
    sixth = inverse**3
    distance = np.sqrt(square)
    strength = 24 * inverse * sixth * (2 * sixth - 1) - LAST_FORCE / distance
    energy = 4 * (sixth * (sixth - 1) - LAST * (LAST - 1)) + LAST_FORCE * (distance - CUTOFF)
    return strength[:, None] * away, energy / 2


def summed(position, change):
    """Return sums of `change`d terms of all pairs: forces (n, 3) and energies (n,)."""
    box = SPACING * round(len(position) ** (1 / 3))
    tree = scipy.spatial.cKDTree(np.asarray(position, np.float64), boxsize=box)
    first, second = tree.query_pairs(CUTOFF, output_type="ndarray").T
    away = position[first] - position[second]
    away = away - box * np.rint(away / box)
    pull, half = (change(each) for each in pair_terms(away))
    force, energy = np.zeros_like(position), np.zeros_like(position[:, 0])
    np.add.at(force, first, pull)
    np.add.at(force, second, change(-pull))
    np.add.at(energy, first, half)
    np.add.at(energy, second, half)
    return force, energy


@task(
    sizes=dict(
        small=dict(side=7),
        odd1=dict(side=8),
        odd2=dict(side=9),
        seed=dict(side=10),
        large=dict(side=32),
    ),
    gpu_headlines=("large",),
    draw=lambda random: dict(side=int(random.integers(7, 14))),
    inputs=dict(
        position=replace(
            normal("side * side * side", 3).only(),
            distribution="a disturbed lattice",
            draw=drawn,
            together=True,
            exchangeable=False,
        )
    ),
    outputs=dict(
        force=output("side * side * side", 3),
        energy=output("side * side * side"),
    ),
    oracle=lambda position: summed(position, lambda terms: terms),
    scale=lambda position: summed(position, np.abs),
    flops="27 * 20 * 11 * side * side * side",
    baseline="all pairs, in blocks of 256 particles",
)
def lennard_jones(position):
    box = SPACING * round(len(position) ** (1 / 3))
    forces, energies = [], []
    for start in range(0, len(position), BLOCK):
        away = position[None] - position[start : start + BLOCK, None]
        away = away - box * mx.round(away / box)
        square = (away * away).sum(axis=-1)
        is_near = (square < CUTOFF**2) & (square > 0)
        square = mx.where(is_near, square, 1)
        inverse = 1 / square
        sixth = inverse * inverse * inverse
        distance = mx.sqrt(square)
        strength = 24 * inverse * sixth * (2 * sixth - 1) - LAST_FORCE / distance
        strength = mx.where(is_near, strength, 0)
        forces.append(-(strength[:, :, None] * away).sum(axis=1))
        energy = 4 * (sixth * (sixth - 1) - LAST * (LAST - 1)) + LAST_FORCE * (distance - CUTOFF)
        energies.append(0.5 * mx.where(is_near, energy, 0).sum(axis=1))
    return mx.concatenate(forces), mx.concatenate(energies)
