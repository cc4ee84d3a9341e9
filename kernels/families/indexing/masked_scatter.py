"""Marked elements become those of another array, in order."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task
from metalbench.task.families import FLOATING


@task(
    sizes=dict(
        small=dict(n=1000),
        odd1=dict(n=1023),
        odd2=dict(n=37),
        seed=dict(n=262144),
        large=dict(n=8388608),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("n"), mask=integers("n", high=2, dtype="bool"), values=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x, mask, values: np.where(mask, values[np.cumsum(mask) - mask], x),
    dtypes=FLOATING,
    flops="n",
    inout=dict(x="y"),
    inout_bytes="n * (1 + itemsize)",
    baseline="mx.where(mask, values[mx.cumsum(mask)], x)",
)
def masked_scatter(x, mask, values):
    places = mx.cumsum(mask.astype(mx.int32)) - mask.astype(mx.int32)
    return mx.where(mask, values[places], x)
