"""Gated linear attention: a state that decays by head, and takes in each token's value and key."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task, uniform
from metalbench.task.recurrences import linear_attention, state_input

GENTLE = (even(), coarse(), sparse())


@task(
    sizes=dict(
        small=dict(tokens=5, heads=2, rows=16, cols=32),
        odd1=dict(tokens=37, heads=3, rows=13, cols=33),
        odd2=dict(tokens=3, heads=1, rows=7, cols=130),
        seed=dict(tokens=128, heads=8, rows=64, cols=64),
        large=dict(tokens=2048, heads=32, rows=128, cols=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        q=normal("tokens", "heads", "cols").only(*GENTLE),
        k=normal("tokens", "heads", "cols").only(*GENTLE),
        v=normal("tokens", "heads", "rows"),
        log_decay=uniform("tokens", "heads", low=-0.5, high=0.0),
        state=state_input("heads", "rows", "cols"),
    ),
    outputs=dict(
        y=output("tokens", "heads", "rows"),
        left=output("heads", "rows", "cols", dtype="float32"),
    ),
    oracle=lambda q, k, v, log_decay, state: linear_attention(q, k, v, np.exp(log_decay), state),
    scale=lambda q, k, v, log_decay, state: linear_attention(
        *(np.abs(x) for x in (q, k, v)), np.exp(log_decay), np.abs(state)
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="5 * tokens * heads * rows * cols",
    baseline="products of all queries with all keys, which decay by their distance",
)
def gla(q, k, v, log_decay, state):
    q, k, v, gates = (x.astype(mx.float32).swapaxes(0, 1) for x in (q, k, v, log_decay))
    since = mx.cumsum(gates, axis=1)
    between = mx.where(mx.tri(len(log_decay)), since[:, :, None] - since[:, None], -mx.inf)
    mixed = (q @ k.swapaxes(1, 2) * mx.exp(between)) @ v
    y = mixed + mx.exp(since)[:, :, None] * (q @ state.swapaxes(1, 2))
    last = since[:, -1:]
    weighted = v * mx.exp(last - since)[:, :, None]
    left = mx.exp(last)[:, :, None] * state + weighted.swapaxes(1, 2) @ k
    return y.swapaxes(0, 1).astype(log_decay.dtype), left
