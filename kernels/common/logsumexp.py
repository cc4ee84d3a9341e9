"""Logarithm of the sum of exponentials of every row."""

import math

import mlx.core as mx

from metalbench.task import normal, oracles, output, task, with_special


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        decode=dict(rows=1, cols=4096),
        vocabulary=dict(rows=1, cols=152064),
        large=dict(rows=4096, cols=4096),
        huge=dict(rows=36864, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols").also(with_special(-math.inf))),
    outputs=dict(y=output("rows")),
    oracle=lambda x: oracles.logsumexp(x, axis=-1),
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * rows * cols",
    baseline="mx.logsumexp",
    torch=lambda torch, x: torch.logsumexp(x, dim=-1),
)
def logsumexp(x):
    return mx.logsumexp(x, axis=-1)
