"""New keys of all heads into their positions of a cache of E4M3, with a scale for each head."""

import mlx.core as mx
import numpy as np

from metalbench.formats.encodings import to_e4m3
from metalbench.formats.inputs import fp8
from metalbench.task import distinct, normal, output, task

CACHE = ("heads", "length", "dims")


def placed(cache, cache_scales, fresh, position):
    """The cache with the codes of fresh rows (tokens, heads, dims) at their positions."""
    y = cache.copy()
    scales = cache_scales.astype(np.float32)[:, None]
    y[:, position.astype(np.int64)] = to_e4m3(fresh.astype(np.float32) / scales).swapaxes(0, 1)
    return y


@task(
    sizes=dict(
        small=dict(heads=2, length=16, tokens=3, dims=64),
        odd1=dict(heads=3, length=37, tokens=37, dims=80),
        odd2=dict(heads=1, length=101, tokens=5, dims=336),
        seed=dict(heads=8, length=4096, tokens=256, dims=128),
        large=dict(heads=8, length=65536, tokens=512, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        **fp8(*CACHE, name="cache"),
        fresh=normal("tokens", "heads", "dims"),
        position=distinct("tokens", below="length"),
    ),
    outputs=dict(y=output(*CACHE, dtype="uint8")),
    draw=lambda random: dict(
        heads=int(random.integers(1, 9)),
        length=int(random.integers(64, 1025)),
        tokens=int(random.integers(1, 65)),
        dims=16 * int(random.integers(1, 13)),
    ),
    oracle=placed,
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * tokens * heads * dims",
    bytes="2 * heads * length * dims + tokens * heads * dims * itemsize + 4 * tokens",
    inout=dict(cache="y"),
    inout_bytes="tokens * (heads * dims * (itemsize + 1) + 4)",
    baseline="mx.to_fp8, cache[:, position] = rows",
)
def kv_append_fp8(cache, cache_scales, fresh, position):
    y = mx.array(cache)
    codes = mx.to_fp8(fresh.astype(mx.float32) / cache_scales.astype(mx.float32)[:, None])
    y[:, position] = codes.swapaxes(0, 1)
    return y
