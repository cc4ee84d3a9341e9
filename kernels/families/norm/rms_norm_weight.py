"""Root-mean-square normalisation over the last axis, with a weight for each column."""

import mlx.core as mx

from metalbench.task import normal, output, task
from metalbench.task.matrices import FLOATING, ROWS
from metalbench.task.norms import root_mean_square


@task(
    sizes=ROWS,
    gpu_headline="large",
    inputs=dict(x=normal("rows", "cols"), w=normal("cols", mean=1, deviation=0.2)),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(eps=1e-5),
    oracle=lambda x, w, eps: x / root_mean_square(x, eps) * w,
    dtypes=FLOATING,
    flops="5 * rows * cols",
    baseline="mx.fast.rms_norm",
)
def rms_norm_weight(x, w, eps):
    return mx.fast.rms_norm(x, w, eps)
