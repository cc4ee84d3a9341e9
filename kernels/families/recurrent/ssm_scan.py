"""Mamba 2 over a prompt: states that decay by head, token after token."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task, uniform
from metalbench.task.recurrences import linear_attention, state_input

GENTLE = (even(), coarse(), sparse())


def scanned(x, dt, a_log, b, c, skip, state):
    """Linear attention whose values are dt x, keys b and queries c."""
    decay = np.exp(-np.exp(a_log) * dt)
    y, left = linear_attention(c, b, dt[:, :, None] * x, decay, state)
    return y + skip[:, None] * x, left


@task(
    sizes=dict(
        small=dict(tokens=5, heads=4, groups=1, dims=16, states=32),
        odd1=dict(tokens=37, heads=6, groups=2, dims=13, states=33),
        odd2=dict(tokens=3, heads=3, groups=3, dims=7, states=130),
        seed=dict(tokens=128, heads=8, groups=1, dims=64, states=64),
        large=dict(tokens=2048, heads=80, groups=1, dims=64, states=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("tokens", "heads", "dims").only(*GENTLE),
        dt=uniform("tokens", "heads", low=0.001, high=0.1),
        a_log=normal("heads").only(*GENTLE),
        b=normal("tokens", "groups", "states").only(*GENTLE),
        c=normal("tokens", "groups", "states").only(*GENTLE),
        skip=normal("heads").only(*GENTLE),
        state=state_input("heads", "dims", "states"),
    ),
    outputs=dict(
        y=output("tokens", "heads", "dims"),
        left=output("heads", "dims", "states", dtype="float32"),
    ),
    draw=lambda random: dict(
        tokens=int(random.integers(5, 129)),
        heads=8,
        groups=int(2 ** random.integers(0, 4)),
        dims=int(random.integers(8, 65)),
        states=int(random.integers(16, 129)),
    ),
    oracle=scanned,
    scale=lambda x, dt, a_log, b, c, skip, state: scanned(
        np.abs(x), dt, a_log, np.abs(b), np.abs(c), np.abs(skip), np.abs(state)
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="5 * tokens * heads * dims * states",
    baseline="products of all tokens with all before, which decay by their distance",
)
def ssm_scan(x, dt, a_log, b, c, skip, state):
    wide = (each.astype(mx.float32) for each in (x, dt, a_log, b, c, skip))
    x32, step, rate, b, c, through = wide
    shared = x.shape[1] // b.shape[1]
    b, c = (mx.repeat(each, shared, axis=1).swapaxes(0, 1) for each in (b, c))
    since = mx.cumsum(-mx.exp(rate) * step, axis=0).T
    between = mx.where(mx.tri(len(x)), since[:, :, None] - since[:, None], -mx.inf)
    values = (step[:, :, None] * x32).swapaxes(0, 1)
    mixed = (c @ b.swapaxes(1, 2) * mx.exp(between)) @ values
    y = mixed + mx.exp(since)[:, :, None] * (c @ state.swapaxes(1, 2))
    last = since[:, -1:]
    weighted = values * mx.exp(last - since)[:, :, None]
    left = mx.exp(last)[:, :, None] * state + weighted.swapaxes(1, 2) @ b
    return (y.swapaxes(0, 1) + through[:, None] * x32).astype(x.dtype), left
