"""Gated activation of GPT-OSS: clipped gate and value, g sigmoid(1.702 g) (u + 1)."""

import mlx.core as mx
import numpy as np
from scipy.special import expit

from metalbench.task import normal, output, task

LIMIT = 7


def gated(gate, up):
    """The gate is cut above, the value on both sides."""
    gate, up = np.minimum(gate, LIMIT), np.clip(up, -LIMIT, LIMIT)
    return gate * expit(1.702 * gate) * (up + 1)


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=4096, cols=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        gate=normal("rows", "cols", deviation=4.0), up=normal("rows", "cols", deviation=4.0)
    ),
    outputs=dict(y=output("rows", "cols")),
    oracle=gated,
    scale=lambda gate, up: np.abs(gated(gate, up)) + np.abs(gated(gate, 0 * up)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="8 * rows * cols",
    baseline="mx.minimum, clip, sigmoid, multiply",
)
def clipped_swiglu(gate, up):
    gate, up = mx.minimum(gate, LIMIT), mx.clip(up, -LIMIT, LIMIT)
    return gate * mx.sigmoid(1.702 * gate) * (up + 1)
