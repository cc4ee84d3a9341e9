"""One step of the optimiser AdamW, with the bias of the moments corrected."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, positive, task
from metalbench.task.families import FLOATING, ROWS

MEAN_SHARE, SQUARE_SHARE = 0.1, 0.001  # 1 - beta of each moment
RATE, DECAY, STEP = 0.01, 0.1, 10


def step(parameter, gradient, mean, square, rate, root, kept, mean_share, square_share, eps):
    """The new parameter and moments. `rate` and `root` have the corrections in them."""
    mean = (1 - mean_share) * mean + mean_share * gradient
    square = (1 - square_share) * square + square_share * gradient * gradient
    return kept * parameter - rate * mean / (root * np.sqrt(square) + eps), mean, square


def magnitudes(parameter, gradient, mean, square, rate, root, kept, mean_share, square_share, eps):
    """The terms of each result, all of one sign."""
    terms = (1 - mean_share) * np.abs(mean) + mean_share * np.abs(gradient)
    square = (1 - square_share) * square + square_share * gradient * gradient
    parameter = kept * np.abs(parameter) + rate * terms / (root * np.sqrt(square) + eps)
    return parameter, terms, square


@task(
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(
        parameter=normal("rows", "cols"),
        gradient=normal("rows", "cols"),
        mean=normal("rows", "cols"),
        square=positive("rows", "cols"),
    ),
    outputs=dict(
        new_parameter=output("rows", "cols"),
        new_mean=output("rows", "cols"),
        new_square=output("rows", "cols"),
    ),
    constants=dict(
        rate=RATE / (1 - (1 - MEAN_SHARE) ** STEP),
        root=1 / (1 - (1 - SQUARE_SHARE) ** STEP) ** 0.5,
        kept=1 - RATE * DECAY,
        mean_share=MEAN_SHARE,
        square_share=SQUARE_SHARE,
        eps=1e-8,
    ),
    oracle=step,
    scale=magnitudes,
    dtypes=FLOATING,
    flops="15 * rows * cols",
    baseline="multiply, add, mx.square, mx.sqrt, divide: AdamW of mlx.optimizers",
)
def adamw_step(parameter, gradient, mean, square, rate, root, kept, mean_share, square_share, eps):
    mean = (1 - mean_share) * mean + mean_share * gradient
    square = (1 - square_share) * square + square_share * mx.square(gradient)
    return kept * parameter - rate * mean / (root * mx.sqrt(square) + eps), mean, square
