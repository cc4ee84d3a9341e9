"""Root-mean-square normalisation with weights as distances from one, as in Gemma."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import DECODE, FLOATING, ROWS
from metalbench.task.oracles import root_mean_square


@task(
    sizes=ROWS | DECODE,
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols"), w=normal("cols", deviation=0.2)),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(eps=1e-5),
    oracle=lambda x, w, eps: x / root_mean_square(x, eps) * (1 + w),
    scale=lambda x, w, eps: x / root_mean_square(x, eps) * (1 + np.abs(w)),
    dtypes=FLOATING,
    flops="6 * rows * cols",
    baseline="mx.fast.rms_norm(x, 1 + w)",
)
def gemma_rms_norm(x, w, eps):
    return mx.fast.rms_norm(x, 1 + w, eps)
