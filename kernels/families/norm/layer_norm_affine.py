"""Layer normalisation over the last axis, with weight and bias."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.matrices import FLOATING, ROWS
from metalbench.task.norms import standardised, standardised_terms


@task(
    sizes=ROWS,
    gpu_headline="large",
    inputs=dict(
        x=normal("rows", "cols"), w=normal("cols", mean=1, deviation=0.2), b=normal("cols")
    ),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(eps=1e-5),
    oracle=lambda x, w, b, eps: standardised(x, eps) * w + b,
    scale=lambda x, w, b, eps: standardised_terms(x, eps) * np.abs(w) + np.abs(b),
    dtypes=FLOATING,
    flops="9 * rows * cols",
    baseline="mx.fast.layer_norm",
)
def layer_norm_affine(x, w, b, eps):
    return mx.fast.layer_norm(x, w, b, eps)
