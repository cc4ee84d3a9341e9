"""New keys of all heads into their positions of a cache, whose other rows stay."""

import mlx.core as mx
import numpy as np

from metalbench.task import distinct, normal, output, task


def appended(cache, fresh, position):
    """The cache with the new rows."""
    y = cache.copy()
    y[:, position.astype(np.int64)] = fresh.transpose(1, 0, 2)
    return y


@task(
    sizes=dict(
        small=dict(heads=2, length=16, tokens=3, dims=32),
        odd1=dict(heads=3, length=37, tokens=37, dims=33),
        odd2=dict(heads=1, length=101, tokens=5, dims=80),
        seed=dict(heads=8, length=1024, tokens=64, dims=128),
        large=dict(heads=8, length=16384, tokens=512, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        cache=normal("heads", "length", "dims"),
        fresh=normal("tokens", "heads", "dims"),
        position=distinct("tokens", below="length"),
    ),
    outputs=dict(y=output("heads", "length", "dims")),
    oracle=appended,
    dtypes=("float32", "float16", "bfloat16"),
    flops="0",
    bytes="itemsize * heads * dims * (2 * length + 2 * tokens) + 4 * tokens",
    inout=dict(cache="y"),
    inout_bytes="tokens * (2 * itemsize * heads * dims + 4)",
    baseline="cache[:, position] = fresh",
    draw=lambda random: dict(
        heads=int(random.integers(1, 9)),
        length=int(random.integers(64, 1025)),
        tokens=int(random.integers(1, 65)),
        dims=int(random.integers(8, 129)),
    ),
)
def kv_append(cache, fresh, position):
    y = mx.array(cache)
    y[:, position] = fresh.transpose(1, 0, 2)
    return y
