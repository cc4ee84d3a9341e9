"""A recurrence of numbers: h = a h + x in every channel, as in Griffin's and minimal GRU layers."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task, uniform


def recurred(a, x):
    """Token after token, along the second axis."""
    h, state = np.empty_like(x), np.zeros_like(x[:, 0])
    for t in range(x.shape[1]):
        state = a[:, t] * state + x[:, t]
        h[:, t] = state
    return h


def doubled(a, x):
    """Pairs of neighbours, then of pairs: as many steps as the number of tokens has digits."""
    width = 1
    while width < x.shape[1]:
        x = mx.concatenate([x[:, :width], x[:, width:] + a[:, width:] * x[:, :-width]], axis=1)
        a = mx.concatenate([a[:, :width], a[:, width:] * a[:, :-width]], axis=1)
        width *= 2
    return x


@task(
    sizes=dict(
        small=dict(batch=2, tokens=7, channels=32),
        odd1=dict(batch=1, tokens=37, channels=33),
        odd2=dict(batch=3, tokens=2, channels=130),
        seed=dict(batch=2, tokens=64, channels=1024),
        large=dict(batch=4, tokens=2048, channels=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        a=uniform("batch", "tokens", "channels", low=0.8, high=1.0),
        x=normal("batch", "tokens", "channels").only(even(), coarse(), sparse()),
    ),
    outputs=dict(h=output("batch", "tokens", "channels")),
    oracle=recurred,
    scale=lambda a, x: recurred(np.abs(a), np.abs(x)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * tokens * channels",
    baseline="a loop over tokens",
    fast=lambda a, x: doubled(a.astype(mx.float32), x.astype(mx.float32)).astype(x.dtype),
    against=("eager", "compiled", "fast"),
)
def rg_lru(a, x):
    state = mx.zeros((x.shape[0], x.shape[2]), dtype=mx.float32)
    steps = []
    for t in range(x.shape[1]):
        state = a[:, t].astype(mx.float32) * state + x[:, t]
        steps.append(state)
    return mx.stack(steps, axis=1).astype(x.dtype)
