"""Rotary position embedding with YaRN's frequencies and factor."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.attention import (
    ROPE_SIZES,
    rotary_frequencies,
    rotate_halves,
    rotation_magnitude,
)
from metalbench.task.families import FLOATING


def ramped(dims, base, stretch, low_pair, high_pair):
    """Frequencies, those of late pairs divided by `stretch`."""
    r = np.clip((np.arange(dims // 2) - low_pair) / (high_pair - low_pair), 0, 1)
    return rotary_frequencies(dims, base) * (r / stretch + 1 - r)


def angles(x, base, offset, stretch, low_pair, high_pair, attention_factor):
    """Of every pair."""
    positions = offset + np.arange(x.shape[1])
    return positions[:, None] * ramped(x.shape[-1], base, stretch, low_pair, high_pair)


@task(
    sizes=ROPE_SIZES,
    gpu_headlines=("large",),
    inputs=dict(x=normal("heads", "tokens", "dims")),
    outputs=dict(y=output("heads", "tokens", "dims")),
    multiples=dict(dims=2),
    constants=dict(
        base=10000.0,
        offset=1000,
        stretch=4.0,
        low_pair=4.0,
        high_pair=12.0,
        attention_factor=1.138629436,
    ),
    oracle=lambda x, base, offset, stretch, low_pair, high_pair, attention_factor: (
        attention_factor
        * rotate_halves(x, angles(x, base, offset, stretch, low_pair, high_pair, attention_factor))
    ),
    scale=lambda x, base, offset, stretch, low_pair, high_pair, attention_factor: (
        attention_factor
        * rotation_magnitude(
            x, angles(x, base, offset, stretch, low_pair, high_pair, attention_factor)
        )
    ),
    dtypes=FLOATING,
    flops="3 * heads * tokens * dims",
    baseline="mx.fast.rope(freqs=)",
)
def rope_yarn(x, base, offset, stretch, low_pair, high_pair, attention_factor):
    dims = x.shape[-1]
    periods = mx.array(1 / ramped(dims, base, stretch, low_pair, high_pair))
    return attention_factor * mx.fast.rope(
        x,
        dims,
        traditional=False,
        base=None,
        scale=1.0,
        offset=offset,
        freqs=periods.astype(mx.float32),
    )
