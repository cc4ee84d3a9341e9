"""Normalisation of groups of channels of every image, channels first, without scale and shift."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def standardised(x, groups, eps):
    """Images of `x` in which every group of channels has mean 0 and variance 1."""
    rows = x.reshape(x.shape[0], groups, -1)
    variance = rows.var(axis=-1, keepdims=True)
    return ((rows - rows.mean(axis=-1, keepdims=True)) / np.sqrt(variance + eps)).reshape(x.shape)


def magnitude(x, groups, eps):
    """The terms whose difference the result is, in units of the standard deviation."""
    rows = x.reshape(x.shape[0], groups, -1)
    terms = np.abs(rows) + np.abs(rows.mean(axis=-1, keepdims=True))
    return (terms / np.sqrt(rows.var(axis=-1, keepdims=True) + eps)).reshape(x.shape)


@task(
    sizes=dict(
        small=dict(batch=2, channels=16, height=8, width=8),
        odd1=dict(batch=1, channels=8, height=9, width=13),
        odd2=dict(batch=3, channels=24, height=37, width=29),
        seed=dict(batch=8, channels=64, height=32, width=32),
        large=dict(batch=32, channels=64, height=64, width=64),
        huge=dict(batch=288, channels=64, height=64, width=64),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("batch", "channels", "height", "width")),
    outputs=dict(y=output("batch", "channels", "height", "width")),
    multiples=dict(channels=8),
    constants=dict(groups=8, eps=1e-5),
    oracle=standardised,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="7 * batch * channels * height * width",
    baseline="mx.fast.layer_norm",
    torch=lambda torch, x, groups, eps: torch.nn.functional.group_norm(x, groups, eps=eps),
)
def group_norm(x, groups, eps):
    rows = x.reshape(x.shape[0], groups, -1)
    return mx.fast.layer_norm(rows, None, None, eps).reshape(x.shape)
