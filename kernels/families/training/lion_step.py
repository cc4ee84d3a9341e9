"""One step of the optimiser Lion, with decay of the weights."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING, ROWS

RATE, DECAY = 0.01, 0.1


def step(parameter, gradient, momentum, rate, kept, direction_share, momentum_share):
    """The new parameter and momentum (Chen et al., "Symbolic discovery of ...", 2023)."""
    direction = (1 - direction_share) * momentum + direction_share * gradient
    momentum = (1 - momentum_share) * momentum + momentum_share * gradient
    return kept * parameter - rate * np.sign(direction), momentum


def magnitudes(parameter, gradient, momentum, rate, kept, direction_share, momentum_share):
    """The terms of each result; those of a sign times its condition, which is large near zero."""
    direction = (1 - direction_share) * momentum + direction_share * gradient
    terms = (1 - direction_share) * np.abs(momentum) + direction_share * np.abs(gradient)
    condition = 1 + terms / np.maximum(np.abs(direction), np.float32(1e-30))
    of_momentum = (1 - momentum_share) * np.abs(momentum) + momentum_share * np.abs(gradient)
    return kept * np.abs(parameter) + rate * condition, of_momentum


@task(
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(
        parameter=normal("rows", "cols"),
        gradient=normal("rows", "cols"),
        momentum=normal("rows", "cols"),
    ),
    outputs=dict(new_parameter=output("rows", "cols"), new_momentum=output("rows", "cols")),
    constants=dict(rate=RATE, kept=1 - RATE * DECAY, direction_share=0.1, momentum_share=0.01),
    oracle=step,
    scale=magnitudes,
    dtypes=FLOATING,
    flops="8 * rows * cols",
    baseline="multiply, add, mx.sign: Lion of mlx.optimizers",
)
def lion_step(parameter, gradient, momentum, rate, kept, direction_share, momentum_share):
    direction = (1 - direction_share) * momentum + direction_share * gradient
    momentum = (1 - momentum_share) * momentum + momentum_share * gradient
    return kept * parameter - rate * mx.sign(direction), momentum
