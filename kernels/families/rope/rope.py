"""Rotary position embedding of halves of heads, from an offset on."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.matrices import FLOATING
from metalbench.task.rope import SIZES, frequencies, magnitude, turned


def angles(x, base, offset):
    """Of every pair."""
    positions = offset + np.arange(x.shape[1])
    return positions[:, None] * frequencies(x.shape[-1], base)


@task(
    sizes=SIZES,
    gpu_headline="large",
    inputs=dict(x=normal("heads", "tokens", "dims")),
    outputs=dict(y=output("heads", "tokens", "dims")),
    multiples=dict(dims=2),
    constants=dict(base=10000.0, offset=1000),
    oracle=lambda x, base, offset: turned(x, angles(x, base, offset)),
    scale=lambda x, base, offset: magnitude(x, angles(x, base, offset)),
    dtypes=FLOATING,
    flops="3 * heads * tokens * dims",
    baseline="mx.fast.rope",
)
def rope(x, base, offset):
    return mx.fast.rope(x, x.shape[-1], traditional=False, base=base, scale=1.0, offset=offset)
