"""Rotary position embedding of the pairs (2i, 2i + 1)."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.oracles import rotate_pairs


def magnitude(x, base):
    """Length of every pair times 1 + its angle, because rounding an angle errs in proportion."""
    positions, dims = x.shape
    frequency = float(base) ** (-np.arange(0, dims, 2) / dims)
    angle = np.arange(positions)[:, None] * frequency
    return np.repeat(np.hypot(x[:, ::2], x[:, 1::2]) * (1 + angle), 2, axis=-1)


@task(
    sizes=dict(
        small=dict(positions=16, dims=32),
        odd1=dict(positions=37, dims=66),
        odd2=dict(positions=129, dims=10),
        seed=dict(positions=128, dims=64),
        large=dict(positions=4096, dims=2048),
        huge=dict(positions=36864, dims=2048),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("positions", "dims")),
    outputs=dict(y=output("positions", "dims")),
    multiples=dict(dims=2),
    constants=dict(base=10000.0),
    oracle=rotate_pairs,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="6 * positions * (dims / 2)",
    baseline="mx.fast.rope",
)
def rope_embedding(x, base):
    return mx.fast.rope(x[None], x.shape[-1], traditional=True, base=base, scale=1.0, offset=0)[0]
