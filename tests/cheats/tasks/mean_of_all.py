"""Mean of all elements."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(small=dict(n=1000), odd1=dict(n=77), seed=dict(n=1 << 20)),
    inputs=dict(x=normal("n", mean=1.0)),
    outputs=dict(y=output(1)),
    oracle=lambda x: x.mean().reshape(1),
    scale=lambda x: np.abs(x).mean().reshape(1),
    flops="n",
)
def mean_of_all(x):
    return mx.mean(x).reshape(1)
