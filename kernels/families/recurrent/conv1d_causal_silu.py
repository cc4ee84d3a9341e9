"""Causal depthwise convolution of four taps with silu, which goes on from earlier inputs."""

import mlx.core as mx
import numpy as np
import scipy.special

from metalbench.task import normal, output, task


def convolved(x, before, w):
    """Sums over the last taps of each channel; and the last inputs, which the next call needs."""
    known = np.concatenate([before, x], axis=1)
    count = w.shape[1]
    y = sum(known[:, k : k + x.shape[1]] * w[:, k] for k in range(count))
    return y, known[:, -(count - 1) :]


def activated(x, before, w, taps):
    """The sums times their logistic function."""
    y, left = convolved(x, before, w)
    return y * scipy.special.expit(y), left


def magnitude(x, before, w, taps):
    """Sums of absolute terms; silu's slope is 1.1 at most."""
    y, left = convolved(np.abs(x), np.abs(before), np.abs(w))
    return 1.1 * y, left


@task(
    sizes=dict(
        small=dict(batch=2, tokens=7, channels=16),
        odd1=dict(batch=1, tokens=37, channels=33),
        odd2=dict(batch=3, tokens=2, channels=130),
        seed=dict(batch=2, tokens=256, channels=1024),
        large=dict(batch=4, tokens=2048, channels=8192),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("batch", "tokens", "channels"),
        before=normal("batch", "taps - 1", "channels"),
        w=normal("channels", "taps"),
    ),
    outputs=dict(
        y=output("batch", "tokens", "channels"), left=output("batch", "taps - 1", "channels")
    ),
    constants=dict(taps=4),
    oracle=activated,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="12 * batch * tokens * channels",
    baseline="mx.concatenate, mx.conv1d with groups, silu",
)
def conv1d_causal_silu(x, before, w, taps):
    known = mx.concatenate([before, x], axis=1)
    y = mx.conv1d(known, w[:, :, None], groups=x.shape[2])
    return y * mx.sigmoid(y), known[:, -(taps - 1) :]
