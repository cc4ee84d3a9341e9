"""Partial results of attention over spans of keys joined, as if it had been one softmax."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, positive, task


def merged(module, out, peak, whole):
    """Sums of values that are not divided yet, relative to a largest score each, and of weights."""
    factor = module.exp(peak - peak.max(axis=-1, keepdims=True))
    y = (factor[..., None] * out).sum(axis=1)
    return y / (factor * whole).sum(axis=-1, keepdims=True)


@task(
    sizes=dict(
        small=dict(heads=4, spans=3, dims=32),
        odd1=dict(heads=7, spans=17, dims=81),
        odd2=dict(heads=3, spans=1, dims=257),
        seed=dict(heads=512, spans=32, dims=128),
        large=dict(heads=2048, spans=64, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        out=normal("heads", "spans", "dims"),
        peak=normal("heads", "spans", deviation=3.0).only(),
        whole=positive("heads", "spans"),
    ),
    outputs=dict(y=output("heads", "dims")),
    oracle=lambda out, peak, whole: merged(np, out, peak, whole),
    scale=lambda out, peak, whole: (
        merged(np, np.abs(out), peak, whole) * (1 + np.abs(peak).max(axis=-1, keepdims=True))
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * heads * spans * dims",
    baseline="mx.exp, mx.sum",
)
def merge_partials(out, peak, whole):
    y = merged(mx, *(each.astype(mx.float32) for each in (out, peak, whole)))
    return y.astype(out.dtype)
