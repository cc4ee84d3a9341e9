"""New keys of all heads into a cache that is a ring behind its first four rows, which stay."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task


def placed(module, y, fresh, start, kept):
    """Row t goes to the place t behind `start`, around the ring."""
    ring = y.shape[1] - kept
    y[:, kept + (start + module.arange(len(fresh))) % ring] = fresh.swapaxes(0, 1)
    return y


@task(
    sizes=dict(
        small=dict(heads=2, length=16, tokens=5, dims=32),
        odd1=dict(heads=3, length=37, tokens=33, dims=33),
        odd2=dict(heads=1, length=101, tokens=1, dims=80),
        seed=dict(heads=8, length=1024, tokens=64, dims=128),
        large=dict(heads=8, length=16384, tokens=512, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        cache=normal("heads", "length", "dims"),
        fresh=normal("tokens", "heads", "dims"),
        start=integers(1, high="length - kept"),
    ),
    outputs=dict(y=output("heads", "length", "dims")),
    constants=dict(kept=4),
    oracle=lambda cache, fresh, start, kept: placed(
        np, cache.copy(), fresh, start.astype(np.int64), kept
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="0",
    bytes="itemsize * heads * dims * (2 * length + tokens) + 4",
    inout=dict(cache="y"),
    inout_bytes="2 * itemsize * heads * dims * tokens + 4",
    baseline="cache[:, position] = fresh",
    draw=lambda random: dict(
        heads=int(random.integers(1, 9)),
        length=int(random.integers(68, 1025)),
        tokens=int(random.integers(1, 65)),
        dims=int(random.integers(8, 129)),
    ),
)
def kv_ring_update(cache, fresh, start, kept):
    return placed(mx, mx.array(cache), fresh, start, kept)
