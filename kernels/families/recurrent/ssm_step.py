"""One token of Mamba 2 for a batch of sequences, each with its own state."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task, uniform
from metalbench.task.recurrences import state_input

GENTLE = (even(), coarse(), sparse())


def stepped(x, dt, a_log, b, c, skip, state):
    """S = exp(-e^a dt) S + dt x b^T, y = S c + skip x; heads share b and c by groups."""
    shared = x.shape[1] // b.shape[1]
    b, c = (np.repeat(each, shared, axis=1) for each in (b, c))
    decay = np.exp(-np.exp(a_log) * dt)[:, :, None, None]
    left = decay * state + (dt[:, :, None] * x)[..., None] * b[:, :, None]
    return np.einsum("bhdn,bhn->bhd", left, c) + skip[:, None] * x, left


@task(
    sizes=dict(
        small=dict(batch=2, heads=4, groups=1, dims=16, states=32),
        odd1=dict(batch=1, heads=6, groups=2, dims=13, states=33),
        odd2=dict(batch=3, heads=3, groups=3, dims=7, states=130),
        seed=dict(batch=8, heads=24, groups=1, dims=64, states=128),
        large=dict(batch=32, heads=80, groups=8, dims=64, states=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("batch", "heads", "dims").only(*GENTLE),
        dt=uniform("batch", "heads", low=0.001, high=0.1),
        a_log=normal("heads").only(*GENTLE),
        b=normal("batch", "groups", "states").only(*GENTLE),
        c=normal("batch", "groups", "states").only(*GENTLE),
        skip=normal("heads").only(*GENTLE),
        state=state_input("batch", "heads", "dims", "states"),
    ),
    outputs=dict(
        y=output("batch", "heads", "dims"),
        left=output("batch", "heads", "dims", "states", dtype="float32"),
    ),
    draw=lambda random: dict(
        batch=int(random.integers(1, 9)),
        heads=8,
        groups=int(2 ** random.integers(0, 4)),
        dims=int(random.integers(8, 65)),
        states=int(random.integers(16, 129)),
    ),
    oracle=stepped,
    scale=lambda x, dt, a_log, b, c, skip, state: stepped(
        np.abs(x), dt, a_log, np.abs(b), np.abs(c), np.abs(skip), np.abs(state)
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="5 * batch * heads * dims * states",
    baseline="elementwise operations and a product",
)
def ssm_step(x, dt, a_log, b, c, skip, state):
    wide = (each.astype(mx.float32) for each in (x, dt, a_log, b, c, skip))
    x32, step, rate, b, c, through = wide
    shared = x.shape[1] // b.shape[1]
    b, c = (mx.repeat(each, shared, axis=1) for each in (b, c))
    decay = mx.exp(-mx.exp(rate) * step)[:, :, None, None]
    left = decay * state + (step[:, :, None] * x32)[..., None] * b[:, :, None]
    y = (left @ c[..., None])[..., 0] + through[:, None] * x32
    return y.astype(x.dtype), left
