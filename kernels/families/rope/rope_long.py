"""Rotary position embedding with a factor for every pair (LongRoPE)."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task, uniform
from metalbench.task.attention import (
    ROPE_SIZES,
    rotary_frequencies,
    rotate_halves,
    rotation_magnitude,
)
from metalbench.task.dtypes import DTYPES
from metalbench.task.families import FLOATING


def angles(x, factors, base, offset, attention_factor):
    """Of every pair."""
    positions = offset + np.arange(x.shape[1])
    return positions[:, None] * rotary_frequencies(x.shape[-1], base) / factors


@task(
    sizes=ROPE_SIZES,
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("heads", "tokens", "dims"),
        factors=replace(uniform("dims / 2", low=1, high=8), dtype=DTYPES["float32"]),
    ),
    outputs=dict(y=output("heads", "tokens", "dims")),
    multiples=dict(dims=2),
    constants=dict(base=10000.0, offset=1000, attention_factor=1.190238095),
    oracle=lambda x, factors, base, offset, attention_factor: (
        attention_factor * rotate_halves(x, angles(x, factors, base, offset, attention_factor))
    ),
    scale=lambda x, factors, base, offset, attention_factor: (
        attention_factor * rotation_magnitude(x, angles(x, factors, base, offset, attention_factor))
    ),
    dtypes=FLOATING,
    flops="3 * heads * tokens * dims",
    baseline="mx.fast.rope(freqs=)",
)
def rope_long(x, factors, base, offset, attention_factor):
    dims = x.shape[-1]
    periods = factors * mx.array(1 / rotary_frequencies(dims, base)).astype(mx.float32)
    return attention_factor * mx.fast.rope(
        x, dims, traditional=False, base=None, scale=1.0, offset=offset, freqs=periods
    )
