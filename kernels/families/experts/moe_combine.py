"""Results of experts back in the order of tokens: their weighted sums."""

import numpy as np

from metalbench.task import integers, normal, output, task


def combined(y, weights, place):
    """Of every token the sum of its rows, each times its weight."""
    return (y[place.astype(np.int64)] * weights[..., None]).sum(axis=1)


@task(
    sizes=dict(
        small=dict(tokens=16, dims=32),
        odd1=dict(tokens=37, dims=33),
        odd2=dict(tokens=5, dims=130),
        seed=dict(tokens=512, dims=1024),
        large=dict(tokens=8192, dims=2048),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        y=normal("k * tokens", "dims"),
        weights=normal("tokens", "k", mean=0.25, deviation=0.1),
        place=integers("tokens", "k", high="k * tokens"),
    ),
    outputs=dict(out=output("tokens", "dims")),
    constants=dict(k=4),
    oracle=lambda y, weights, place, k: combined(y, weights, place),
    scale=lambda y, weights, place, k: combined(np.abs(y), np.abs(weights), place),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * k * tokens * dims",
    bytes="tokens * (k * (4 + itemsize) + (k + 1) * dims * itemsize)",
    baseline="(y[place] * weights[..., None]).sum(1)",
)
def moe_combine(y, weights, place, k):
    return (y[place] * weights[..., None]).sum(axis=1)
