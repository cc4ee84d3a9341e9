"""A contiguous copy of a view with two axes exchanged and every second element of the last one."""

import mlx.core as mx

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING


@task(
    sizes=dict(
        small=dict(batch=2, tokens=8, heads=4, cols=64),
        odd1=dict(batch=1, tokens=5, heads=3, cols=33),
        odd2=dict(batch=3, tokens=7, heads=1, cols=131),
        seed=dict(batch=2, tokens=256, heads=16, cols=128),
        large=dict(batch=8, tokens=2048, heads=32, cols=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("batch", "tokens", "heads", "cols")),
    outputs=dict(y=output("batch", "heads", "tokens", "ceil_div(cols, 2)")),
    oracle=lambda x: x.transpose(0, 2, 1, 3)[..., ::2],
    dtypes=FLOATING,
    flops="0",
    bytes="itemsize * 2 * batch * tokens * heads * ceil_div(cols, 2)",
    baseline="mx.contiguous of a view",
)
def copy_strided(x):
    return mx.contiguous(x.transpose(0, 2, 1, 3)[..., ::2])
