"""Population variance of every row."""

import mlx.core as mx

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=4096, cols=4096),
        huge=dict(rows=36864, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows")),
    oracle=lambda x: x.var(axis=-1),
    flops="4 * rows * cols",
    baseline="mx.var",
    torch=lambda torch, x: torch.var(x, dim=-1, correction=0),
)
def variance(x):
    return mx.var(x, axis=-1)
