"""Softmax of x + mask over the last axis; the mask holds 0 and -inf."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.oracles import softmax

mask = replace(
    normal("rows", "cols"),
    distribution="0, or -inf in one of four",
    draw=lambda random, shape, _: np.where(random.random(shape) < 0.25, np.float32(-np.inf), 0),
    variations=(),
)


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        decode=dict(rows=1, cols=4096),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=16384, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols"), mask=mask),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x, mask: softmax(x + mask, axis=-1),
    dtypes=("float32", "float16", "bfloat16"),
    flops="6 * rows * cols",
    baseline="mx.softmax(x + mask)",
    torch=lambda torch, x, mask: torch.softmax(x + mask, dim=-1),
)
def masked_softmax(x, mask):
    return mx.softmax(x + mask, axis=-1)
