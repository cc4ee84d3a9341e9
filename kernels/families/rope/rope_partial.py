"""Rotary positions of the first half of every head; the rest stays."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.attention import rotary_frequencies, rotate_halves, rotation_magnitude


def of_first_half(function, x, base, offset):
    """`function` of the columns that turn and of their angles, and the other columns."""
    turning, rest = np.split(x, [x.shape[-1] // 2], axis=-1)
    positions = offset + np.arange(x.shape[1])
    angle = positions[:, None] * rotary_frequencies(turning.shape[-1], base)
    return np.concatenate([function(turning, angle), rest], axis=-1)


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
    oracle=lambda x, base, offset: of_first_half(rotate_halves, x, base, offset),
    scale=lambda x, base, offset: of_first_half(rotation_magnitude, x, base, offset),
    dtypes=("float32", "float16", "bfloat16"),
    flops="3 * heads * tokens * (dims / 2)",
    baseline="mx.fast.rope",
)
def rope_partial(x, base, offset):
    return mx.fast.rope(
        x[None], x.shape[-1] // 2, traditional=False, base=base, scale=1.0, offset=offset
    )[0]
