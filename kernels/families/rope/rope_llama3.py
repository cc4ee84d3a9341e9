"""Rotary position embedding with the frequencies of Llama 3.1."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task
from metalbench.task.attention import (
    ROPE_SIZES,
    rotary_frequencies,
    rotate_halves,
    rotation_magnitude,
)
from metalbench.task.families import FLOATING


def banded(dims, base, stretch, low_factor, high_factor, old_context):
    """Frequencies, those of long waves divided by `stretch`."""
    f = rotary_frequencies(dims, base)
    t = (old_context * f / (2 * np.pi) - low_factor) / (high_factor - low_factor)
    t = np.clip(t, 0, 1)
    return f * ((1 - t) / stretch + t)


def angles(x, position, base, stretch, low_factor, high_factor, old_context):
    """Of every pair."""
    f = banded(x.shape[-1], base, stretch, low_factor, high_factor, old_context)
    return position[:, None, None] * f


@task(
    sizes=ROPE_SIZES,
    gpu_headlines=("large",),
    inputs=dict(x=normal("tokens", "heads", "dims"), position=integers("tokens", high=4096)),
    outputs=dict(y=output("tokens", "heads", "dims")),
    multiples=dict(dims=2),
    constants=dict(base=500000.0, stretch=8.0, low_factor=1.0, high_factor=4.0, old_context=2048.0),
    oracle=lambda x, position, base, stretch, low_factor, high_factor, old_context: rotate_halves(
        x, angles(x, position, base, stretch, low_factor, high_factor, old_context)
    ),
    scale=lambda x, position, base, stretch, low_factor, high_factor, old_context: (
        rotation_magnitude(
            x, angles(x, position, base, stretch, low_factor, high_factor, old_context)
        )
    ),
    dtypes=FLOATING,
    flops="3 * heads * tokens * dims",
    baseline="mx.fast.rope(freqs=)",
)
def rope_llama3(x, position, base, stretch, low_factor, high_factor, old_context):
    dims = x.shape[-1]
    periods = mx.array(1 / banded(dims, base, stretch, low_factor, high_factor, old_context))
    offset = position.astype(mx.int32)
    return mx.fast.rope(
        x[:, :, None],
        dims,
        traditional=False,
        base=None,
        scale=1.0,
        offset=offset,
        freqs=periods.astype(mx.float32),
    ).squeeze(2)
