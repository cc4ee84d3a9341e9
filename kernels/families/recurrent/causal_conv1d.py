"""Four taps back along the tokens, each channel by itself, then silu: before a state space."""

import mlx.core as mx
import numpy as np
from mlx import nn
from scipy.special import expit

from metalbench.task import normal, output, task

TAPS = 4


def sums(x, w):
    """Each channel's last four tokens by its own taps; before the first are zeros."""
    padded = np.pad(x, ((TAPS - 1, 0), (0, 0)))
    return sum(w[i] * padded[i : i + len(x)] for i in range(TAPS))


@task(
    sizes=dict(
        small=dict(tokens=8, channels=64),
        odd1=dict(tokens=37, channels=33),
        odd2=dict(tokens=3, channels=257),
        seed=dict(tokens=512, channels=1024),
        large=dict(tokens=4096, channels=8192),
    ),
    gpu_headline="large",
    inputs=dict(x=normal("tokens", "channels"), w=normal("taps", "channels", deviation=0.5)),
    outputs=dict(y=output("tokens", "channels")),
    constants=dict(taps=TAPS),
    oracle=lambda x, w, taps: sums(x, w) * expit(sums(x, w)),
    scale=lambda x, w, taps: sums(np.abs(x), np.abs(w)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="12 * tokens * channels",
    baseline="nn.silu(mx.conv1d(groups=channels))",
)
def causal_conv1d(x, w, taps):
    padded = mx.pad(x, ((taps - 1, 0), (0, 0)))[None]
    return nn.silu(mx.conv1d(padded, w.T[..., None], groups=x.shape[1])[0])
