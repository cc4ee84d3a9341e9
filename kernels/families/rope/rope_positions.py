"""Rotary position embedding of tokens with a position each."""

import mlx.core as mx

from metalbench.task import integers, normal, output, task
from metalbench.task.attention import (
    ROPE_SIZES,
    rotary_frequencies,
    rotate_halves,
    rotation_magnitude,
)
from metalbench.task.families import FLOATING


def angles(x, position, base):
    """Of every pair."""
    return position[:, None, None] * rotary_frequencies(x.shape[-1], base)


@task(
    sizes=ROPE_SIZES,
    gpu_headlines=("large",),
    inputs=dict(x=normal("tokens", "heads", "dims"), position=integers("tokens", high=4096)),
    outputs=dict(y=output("tokens", "heads", "dims")),
    multiples=dict(dims=2),
    constants=dict(base=10000.0),
    oracle=lambda x, position, base: rotate_halves(x, angles(x, position, base)),
    scale=lambda x, position, base: rotation_magnitude(x, angles(x, position, base)),
    dtypes=FLOATING,
    flops="3 * heads * tokens * dims",
    baseline="mx.fast.rope(offset=positions)",
)
def rope_positions(x, position, base):
    dims = x.shape[-1]
    tokens = x[:, :, None]
    offset = position.astype(mx.int32)
    return mx.fast.rope(
        tokens, dims, traditional=False, base=base, scale=1.0, offset=offset
    ).squeeze(2)
