"""Selective state space of Mamba: states that decay by what comes in, token after token."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task, uniform

GENTLE = (even(), coarse(), sparse())


def scanned(x, dt, a_log, b, c, skip):
    """One token after the other: s = exp(-e^a dt) s + dt x b, y = s c + skip x."""
    state = np.zeros_like(x, shape=a_log.shape, order="C")
    rate = -np.exp(a_log)
    y = np.empty_like(x)
    for t in range(len(x)):
        state = np.exp(rate * dt[t][:, None]) * state + (dt[t] * x[t])[:, None] * b[t]
        y[t] = state @ c[t] + skip * x[t]
    return y


@task(
    sizes=dict(
        small=dict(tokens=5, channels=32),
        odd1=dict(tokens=37, channels=33),
        odd2=dict(tokens=9, channels=130),
        seed=dict(tokens=64, channels=1024),
        large=dict(tokens=1024, channels=8192),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("tokens", "channels").only(*GENTLE),
        dt=uniform("tokens", "channels", low=0.001, high=0.1),
        a_log=normal("channels", "states").only(*GENTLE),
        b=normal("tokens", "states").only(*GENTLE),
        c=normal("tokens", "states").only(*GENTLE),
        skip=normal("channels").only(*GENTLE),
    ),
    outputs=dict(y=output("tokens", "channels")),
    constants=dict(states=16),
    oracle=lambda x, dt, a_log, b, c, skip, states: scanned(x, dt, a_log, b, c, skip),
    scale=lambda x, dt, a_log, b, c, skip, states: scanned(
        np.abs(x), dt, a_log, np.abs(b), np.abs(c), np.abs(skip)
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="tokens * channels * (6 * states + 2)",
    baseline="a loop over tokens",
)
def mamba_scan(x, dt, a_log, b, c, skip, states):
    state = mx.zeros(a_log.shape)
    rate = -mx.exp(a_log.astype(mx.float32))
    steps = []
    for t in range(len(x)):
        step = dt[t].astype(mx.float32)[:, None]
        state = mx.exp(rate * step) * state + step * x[t][:, None] * b[t]
        steps.append(state @ c[t].astype(mx.float32) + skip * x[t])
    return mx.stack(steps).astype(x.dtype)
