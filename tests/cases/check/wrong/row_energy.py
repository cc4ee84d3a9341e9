"""Sum of each row."""

import mlx.core as mx

from metalbench.task import normal, output, task


@task(
    sizes=dict(small=dict(rows=3, n=256), odd=dict(rows=5, n=1001), seed=dict(rows=64, n=1024)),
    inputs=dict(x=normal("rows", "n")),
    outputs=dict(y=output("rows")),
    oracle=lambda x: x.sum(-1),
    flops="rows * n",
)
def row_energy(x):
    return mx.sum(x, axis=-1)
