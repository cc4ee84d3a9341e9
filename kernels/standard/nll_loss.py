"""Negative log likelihood of every row's class."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task


def loss_of_rows(log_probability, target):
    """Minus the entry of every row that its target names."""
    index = target.astype(np.int64)[:, None]
    return -np.take_along_axis(log_probability, index, axis=-1)[:, 0]


@task(
    sizes=dict(
        small=dict(rows=256, cols=16),
        odd1=dict(rows=1023, cols=37),
        odd2=dict(rows=4097, cols=5),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2097152, cols=8),
        huge=dict(rows=16777216, cols=8),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(log_probability=normal("rows", "cols"), target=integers("rows", high="cols")),
    outputs=dict(loss=output("rows")),
    oracle=loss_of_rows,
    dtypes=("float32", "float16", "bfloat16"),
    flops="rows",
    bytes="rows * (4 + 2 * itemsize)",
    baseline="-mx.take_along_axis",
    torch=lambda torch, log_probability, target: torch.nn.functional.nll_loss(
        log_probability, target, reduction="none"
    ),
)
def nll_loss(log_probability, target):
    return -mx.take_along_axis(log_probability, target[:, None], axis=-1)[:, 0]
