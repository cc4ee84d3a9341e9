"""Normally distributed random numbers of several keys, by Threefry 2x32."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, output, task, threefry


def of_streams(key, count):
    """Stream by stream."""
    return np.stack([threefry.normal(each, count) for each in key])


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
    outputs=dict(y=output("streams", "count")),
    constants=dict(count=4099),
    oracle=of_streams,
    flops="40 * streams * count",
    baseline="mx.random.normal",
)
def random_normal(key, count):
    return mx.vmap(lambda one: mx.random.normal((count,), key=one))(key)
