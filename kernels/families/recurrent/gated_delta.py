"""Gated delta rule: a state that decays, is corrected by every token, and is asked by it."""

import mlx.core as mx
import numpy as np

from metalbench.task import Input, normal, output, task, uniform


def recurred(q, k, v, decay, beta):
    """Token after token: S = g S, S = S + beta (v - S k) k^T, y = S q."""
    tokens, heads, rows = v.shape
    shared = heads // k.shape[1]
    state = np.zeros_like(v, shape=(heads, rows, k.shape[2]), order="C")
    y = np.empty_like(v)
    for t in range(tokens):
        key, query = (np.repeat(each[t], shared, axis=0) for each in (k, q))
        state = state * decay[t][:, None, None]
        said = np.einsum("hvk,hk->hv", state, key)
        change = beta[t][:, None] * (v[t] - said)
        state = state + change[:, :, None] * key[:, None, :]
        y[t] = np.einsum("hvk,hk->hv", state, query)
    return y


def unit(*dims: str) -> Input:
    """Vectors of length one at most: longer keys would let the state grow without end."""

    def draw(random, shape, _):
        values = random.standard_normal(shape, dtype=np.float32)
        return values / np.linalg.norm(values, axis=-1, keepdims=True)

    plain = normal(*dims)
    return Input(plain.shape, None, "on the unit sphere", draw)


@task(
    sizes=dict(
        small=dict(tokens=5, heads=2, k_heads=1, rows=16, cols=32),
        odd1=dict(tokens=37, heads=6, k_heads=2, rows=24, cols=33),
        odd2=dict(tokens=3, heads=3, k_heads=3, rows=7, cols=130),
        seed=dict(tokens=64, heads=8, k_heads=4, rows=64, cols=64),
        large=dict(tokens=2048, heads=32, k_heads=16, rows=128, cols=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        q=unit("tokens", "k_heads", "cols"),
        k=unit("tokens", "k_heads", "cols"),
        v=normal("tokens", "heads", "rows"),
        decay=uniform("tokens", "heads", low=0.8, high=1.0),
        beta=uniform("tokens", "heads", low=0.1, high=1.0),
    ),
    outputs=dict(y=output("tokens", "heads", "rows")),
    draw=lambda random: dict(
        tokens=int(random.integers(5, 65)),
        heads=4,
        k_heads=int(2 ** random.integers(0, 3)),
        rows=int(random.integers(8, 65)),
        cols=int(random.integers(16, 129)),
    ),
    oracle=recurred,
    # Values make up the state, whatever is left of them in one answer.
    scale=lambda q, k, v, decay, beta: (
        np.broadcast_to(np.abs(v).mean(), v.shape) + np.abs(recurred(q, k, v, decay, beta))
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="8 * tokens * heads * rows * cols",
    baseline="mx.fast.gated_delta_update",
)
def gated_delta(q, k, v, decay, beta):
    state = mx.zeros((1, *v.shape[1:], k.shape[2]), dtype=mx.float32)
    given = (each[None] for each in (q, k, v, decay, beta))
    return mx.fast.gated_delta_update(*given, state)[0][0]
