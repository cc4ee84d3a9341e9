"""Normalisation of every channel of every image over its pixels, channels first."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def standardised(x, eps):
    """Images of `x` whose channels each have mean 0 and variance 1."""
    variance = x.var(axis=(2, 3), keepdims=True)
    return (x - x.mean(axis=(2, 3), keepdims=True)) / np.sqrt(variance + eps)


def magnitude(x, eps):
    """The terms whose difference the result is, in units of the standard deviation."""
    mean = x.mean(axis=(2, 3), keepdims=True)
    return (np.abs(x) + np.abs(mean)) / np.sqrt(x.var(axis=(2, 3), keepdims=True) + eps)


@task(
    sizes=dict(
        small=dict(batch=2, channels=4, height=8, width=8),
        odd1=dict(batch=1, channels=5, height=9, width=13),
        odd2=dict(batch=3, channels=3, height=37, width=29),
        seed=dict(batch=8, channels=64, height=32, width=32),
        large=dict(batch=32, channels=64, height=64, width=64),
        huge=dict(batch=288, channels=64, height=64, width=64),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("batch", "channels", "height", "width")),
    outputs=dict(y=output("batch", "channels", "height", "width")),
    constants=dict(eps=1e-5),
    oracle=standardised,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="7 * batch * channels * height * width",
    baseline="mx.fast.layer_norm",
    torch=lambda torch, x, eps: torch.nn.functional.instance_norm(x, eps=eps),
)
def instance_norm(x, eps):
    rows = x.reshape(*x.shape[:2], -1)
    return mx.fast.layer_norm(rows, None, None, eps).reshape(x.shape)
