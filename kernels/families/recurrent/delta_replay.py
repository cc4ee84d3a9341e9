"""A state brought up to the tokens that were accepted, from a record of changes and keys."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task, uniform
from metalbench.task.recurrences import state_input


def replayed(change, k, decay, accepted, state):
    """S = g S + change k^T, of every sequence for as many tokens as were accepted."""
    for t in range(change.shape[1]):
        gate, taken = decay[:, t, :, None, None], (accepted > t)[:, None, None, None]
        added = change[:, t, :, :, None] * k[:, t, :, None, :]
        state = np.where(taken, gate * state + added, state)
    return state


@task(
    sizes=dict(
        small=dict(batch=2, heads=2, rows=16, cols=32),
        odd1=dict(batch=1, heads=6, rows=13, cols=33),
        odd2=dict(batch=5, heads=3, rows=7, cols=130),
        seed=dict(batch=4, heads=16, rows=64, cols=128),
        large=dict(batch=32, heads=32, rows=128, cols=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        change=normal("batch", "tokens", "heads", "rows"),
        k=normal("batch", "tokens", "heads", "cols"),
        decay=uniform("batch", "tokens", "heads", low=0.8, high=1.0),
        accepted=integers("batch", high="tokens + 1"),
        state=state_input("batch", "heads", "rows", "cols"),
    ),
    outputs=dict(left=output("batch", "heads", "rows", "cols", dtype="float32")),
    constants=dict(tokens=8),
    oracle=lambda change, k, decay, accepted, state, tokens: replayed(
        change, k, decay, accepted, state
    ),
    scale=lambda change, k, decay, accepted, state, tokens: replayed(
        np.abs(change), np.abs(k), decay, accepted, np.abs(state)
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * batch * tokens * heads * rows * cols",
    baseline="decays of what follows, and a product",
)
def delta_replay(change, k, decay, accepted, state, tokens):
    wide = (each.astype(mx.float32) for each in (change, k, decay))
    change, k, decay = wide
    taken = (mx.arange(tokens) < accepted[:, None])[..., None]
    gates = mx.where(taken, decay, 1.0)
    after = mx.cumprod(gates, axis=1, reverse=True, inclusive=False)
    weighted = mx.where(taken, after, 0.0)[..., None] * change
    mixed = weighted.transpose(0, 2, 3, 1) @ k.swapaxes(1, 2)
    return mx.prod(gates, axis=1)[..., None, None] * state + mixed
