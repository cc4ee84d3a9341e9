"""How often each of 256 values occurs."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, output, task


@task(
    sizes=dict(
        small=dict(n=1000),
        odd1=dict(n=1023),
        odd2=dict(n=37),
        seed=dict(n=262144),
        large=dict(n=16777216),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=integers("n", high=200)),
    outputs=dict(y=output(256, dtype="uint32")),
    oracle=lambda x: np.bincount(x.astype(np.int64), minlength=256),
    flops="n",
    baseline="mx.zeros.at[x].add(1)",
)
def histogram(x):
    return mx.zeros(256, mx.uint32).at[x].add(1)
