"""Rotary positions whose points are columns half a head apart, as most models have them."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.attention import rotary_frequencies, rotate_halves, rotation_magnitude


def angles(x, base, offset):
    """Of every pair."""
    positions = offset + np.arange(x.shape[1])
    return positions[:, None] * rotary_frequencies(x.shape[-1], base)


@task(
    sizes=dict(
        small=dict(heads=2, tokens=8, dims=16),
        odd1=dict(heads=3, tokens=37, dims=80),
        odd2=dict(heads=1, tokens=101, dims=36),
        seed=dict(heads=32, tokens=64, dims=128),
        large=dict(heads=32, tokens=4096, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("heads", "tokens", "dims")),
    outputs=dict(y=output("heads", "tokens", "dims")),
    constants=dict(base=10000.0, offset=100),
    multiples=dict(dims=4),
    oracle=lambda x, base, offset: rotate_halves(x, angles(x, base, offset)),
    scale=lambda x, base, offset: rotation_magnitude(x, angles(x, base, offset)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="6 * heads * tokens * (dims / 2)",
    baseline="mx.fast.rope",
)
def rope_half(x, base, offset):
    return mx.fast.rope(
        x[None], x.shape[-1], traditional=False, base=base, scale=1.0, offset=offset
    )[0]
