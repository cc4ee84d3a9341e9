"""One step of n bodies that attract each other, with softened distances."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task, uniform

BLOCK, FEW = 512, 16


def accelerations(position, mass, softening, change):
    """Return sums of `change`d terms, for few bodies at a time, whose terms fit into a cache."""
    sums = np.zeros_like(position)
    for start in range(0, len(position), FEW):
        own = slice(start, start + FEW)
        away = [position[None, :, axis] - position[own, None, axis] for axis in range(3)]
        squares = sum(each * each for each in away) + softening**2
        weights = mass / (squares * np.sqrt(squares))
        for axis, each in enumerate(away):
            sums[own, axis] = change(weights * each).sum(axis=-1)
    return sums


def advanced(position, velocity, mass, step, softening):
    """Return new positions and velocities."""
    velocity = velocity + step * accelerations(position, mass, softening, lambda terms: terms)
    return position + step * velocity, velocity


def magnitude(position, velocity, mass, step, softening):
    """Return sums of absolute terms."""
    moved = np.abs(velocity) + step * accelerations(position, mass, softening, np.abs)
    return np.abs(position) + step * moved, moved


@task(
    sizes=dict(
        small=dict(n=200),
        odd1=dict(n=129),
        odd2=dict(n=37),
        seed=dict(n=1024),
        large=dict(n=16384),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        position=normal("n", 3),
        velocity=normal("n", 3),
        mass=uniform("n", low=0.1, high=1.0),
    ),
    outputs=dict(y_position=output("n", 3), y_velocity=output("n", 3)),
    constants=dict(step=0.001, softening=0.05),
    oracle=advanced,
    scale=magnitude,
    flops="20 * n * n",
    baseline="all differences, in blocks of 512 bodies",
)
def n_body(position, velocity, mass, step, softening):
    found = []
    for start in range(0, len(position), BLOCK):
        away = position[None] - position[start : start + BLOCK, None]
        inverse = mx.rsqrt((away * away).sum(axis=-1) + softening**2)
        weights = mass * inverse * inverse * inverse
        found.append((weights[:, :, None] * away).sum(axis=1))
    velocity = velocity + step * mx.concatenate(found)
    return position + step * velocity, velocity
