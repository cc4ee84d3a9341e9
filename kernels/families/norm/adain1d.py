"""Adaptive instance normalisation: rows standardised, then scaled and shifted by a number each."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING, ROWS
from metalbench.task.oracles import standardisation_terms, standardise


def adapted(x, gamma, beta, eps):
    """Standardised rows with their own scale and shift."""
    return standardise(x, eps) * gamma[:, None] + beta[:, None]


def magnitude(x, gamma, beta, eps):
    """The terms of the result."""
    return standardisation_terms(x, eps) * np.abs(gamma)[:, None] + np.abs(beta)[:, None]


@task(
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("rows", "cols"), gamma=normal("rows", mean=1, deviation=0.2), beta=normal("rows")
    ),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(eps=1e-5),
    oracle=adapted,
    scale=magnitude,
    dtypes=FLOATING,
    flops="9 * rows * cols",
    baseline="mx.fast.layer_norm(x) * gamma + beta",
)
def adain1d(x, gamma, beta, eps):
    return mx.fast.layer_norm(x, None, None, eps) * gamma[:, None] + beta[:, None]
