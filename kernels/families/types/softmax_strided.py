"""Softmax of the left half of every row, as a view of the matrix."""

import mlx.core as mx

from metalbench.task import normal, oracles, output, task
from metalbench.task.families import FLOATING, ROWS


@task(
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "2 * cols")),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: oracles.softmax(x[:, : x.shape[1] // 2]),
    dtypes=FLOATING,
    flops="5 * rows * cols",
    bytes="itemsize * 2 * rows * cols",
    baseline="mx.softmax",
)
def softmax_strided(x):
    return mx.softmax(x[:, : x.shape[1] // 2], axis=-1)
