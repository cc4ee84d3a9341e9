"""Two matrices side by side."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING


@task(
    sizes=dict(
        small=dict(rows=16, left=64, right=32),
        odd1=dict(rows=37, left=33, right=101),
        odd2=dict(rows=5, left=1023, right=7),
        seed=dict(rows=1024, left=512, right=512),
        large=dict(rows=4096, left=2048, right=2048),
    ),
    gpu_headlines=("large",),
    inputs=dict(a=normal("rows", "left"), b=normal("rows", "right")),
    outputs=dict(y=output("rows", "left + right")),
    oracle=lambda a, b: np.concatenate([a, b], axis=1),
    dtypes=FLOATING,
    flops="0",
    baseline="mx.concatenate",
)
def concat_columns(a, b):
    return mx.concatenate([a, b], axis=1)
