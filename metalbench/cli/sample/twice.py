"""Twice the input: the task with which `metalbench doctor` tries a worker process."""

import mlx.core as mx

from metalbench.task import normal, output, task


@task(
    sizes=dict(small=dict(n=100)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: 2 * x,
    flops="n",
    baseline="x + x",
    headline="small",
)
def twice(x: mx.array) -> mx.array:
    """Add the input to itself."""
    return x + x
