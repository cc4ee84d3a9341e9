"""Gradient of rotary positions whose points are columns half a head apart."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.attention import rotary_frequencies, rotate_halves, rotation_magnitude


def angles(dy, base, offset):
    """The negative angles of every pair, (tokens, dims / 2)."""
    positions = offset + np.arange(dy.shape[1])
    return -positions[:, None] * rotary_frequencies(dy.shape[-1], base)


@task(
    sizes=dict(
        small=dict(heads=2, tokens=8, dims=16),
        odd1=dict(heads=3, tokens=37, dims=80),
        odd2=dict(heads=1, tokens=101, dims=36),
        seed=dict(heads=32, tokens=64, dims=128),
        large=dict(heads=32, tokens=4096, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(dy=normal("heads", "tokens", "dims")),
    outputs=dict(dx=output("heads", "tokens", "dims")),
    constants=dict(base=10000.0, offset=0),
    multiples=dict(dims=4),
    oracle=lambda dy, base, offset: rotate_halves(dy, angles(dy, base, offset)),
    scale=lambda dy, base, offset: rotation_magnitude(dy, angles(dy, base, offset)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="6 * heads * tokens * (dims / 2)",
    baseline="mx.vjp of mx.fast.rope",
)
def rope_half_gradient(dy, base, offset):
    def forward(x):
        return mx.fast.rope(
            x[None], x.shape[-1], traditional=False, base=base, scale=1.0, offset=offset
        )[0]

    return mx.vjp(forward, [dy], [dy])[1][0]
