"""Sum of all elements before each one, along the last axis."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def before(x):
    """The cumulative sums of rows, one place to the right."""
    return np.cumsum(np.pad(x[:, :-1], ((0, 0), (1, 0))), axis=-1)


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=18432, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    oracle=before,
    scale=lambda x: before(np.abs(x)),
    flops="rows * cols",
    baseline="mx.cumsum(inclusive=False)",
)
def cumsum_exclusive(x):
    return mx.cumsum(x, axis=-1, inclusive=False)
