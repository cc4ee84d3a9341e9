"""Random words of several keys, by Threefry 2x32."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, output, task, threefry


def of_streams(key, count):
    """Stream by stream."""
    return np.stack([threefry.words(each, count) for each in key])


@task(
    sizes=dict(
        small=dict(streams=1),
        odd1=dict(streams=3),
        odd2=dict(streams=2),
        seed=dict(streams=64),
        large=dict(streams=2048),
    ),
    gpu_headlines=("large",),
    inputs=dict(key=integers("streams", 2, high=4294967296)),
    outputs=dict(y=output("streams", "count", dtype="uint32")),
    constants=dict(count=4099),
    oracle=of_streams,
    flops="40 * streams * count",
    baseline="threefry of mx.uint32",
)
def threefry_bits(key, count):
    half = (count + 1) // 2
    first = mx.arange(half, dtype=mx.uint32)
    second = mx.arange(half, 2 * half, dtype=mx.uint32)
    second = mx.where(second < count, second, 0)
    words = threefry.encrypt(first, second, key[:, :1], key[:, 1:])
    return mx.concatenate(words, axis=1)[:, :count]
