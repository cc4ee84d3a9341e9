"""Rotary embedding of image patches by row and column, half a head each."""

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
    f = rotary_frequencies(x.shape[-1] // 2, base)
    return position[:, None, :, None] * f


def by_axis(function, x, position, base):
    """`function` of each half of the heads."""
    halves = x.reshape(*x.shape[:2], 2, -1)
    return function(halves, angles(x, position, base)).reshape(x.shape)


@task(
    sizes=ROPE_SIZES,
    gpu_headlines=("large",),
    inputs=dict(x=normal("tokens", "heads", "dims"), position=integers("tokens", 2, high=64)),
    outputs=dict(y=output("tokens", "heads", "dims")),
    multiples=dict(dims=4),
    constants=dict(base=10000.0),
    oracle=lambda x, position, base: by_axis(rotate_halves, x, position, base),
    scale=lambda x, position, base: by_axis(rotation_magnitude, x, position, base),
    dtypes=FLOATING,
    flops="3 * heads * tokens * dims",
    baseline="mx.sin, mx.cos",
)
def rope_2d(x, position, base):
    halves = x.reshape(*x.shape[:2], 2, -1)
    f = mx.array(rotary_frequencies(x.shape[-1] // 2, base)).astype(mx.float32)
    angle = position[:, None, :, None].astype(mx.float32) * f
    sine, cosine = mx.sin(angle), mx.cos(angle)
    a, b = mx.split(halves, 2, axis=-1)
    y = mx.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=-1)
    return y.reshape(x.shape).astype(x.dtype)
