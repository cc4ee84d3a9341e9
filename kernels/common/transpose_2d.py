"""Transpose of a matrix, written out (not a view)."""

import math

import mlx.core as mx

from metalbench.task import normal, output, task, with_special


@task(
    sizes=dict(
        small=dict(rows=32, cols=64),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=129, cols=65),
        seed=dict(rows=1024, cols=2048),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=18432, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols").also(with_special(math.nan, math.inf, -math.inf, -0.0))),
    outputs=dict(y=output("cols", "rows")),
    oracle=lambda x: x.T,
    dtypes=("float32", "float16", "bfloat16"),
    flops="0",
    baseline="mx.contiguous(mx.transpose)",
    torch=lambda torch, x: x.mT.contiguous(),
)
def transpose_2d(x):
    return mx.contiguous(mx.transpose(x))
