"""The recurrence of RWKV-7: a state that each token decays, turns and adds to, by column."""

import mlx.core as mx
import numpy as np

from metalbench.task import Input, normal, output, task, uniform


def recurred(r, w, k, v, a, b):
    """Token after token: S = S diag(w) + (S a) b^T + v k^T, y = S r."""
    tokens, heads, dims = r.shape
    state = np.zeros((heads, dims, dims), r.dtype)
    y = np.empty_like(r)
    for t in range(tokens):
        turned = np.einsum("hij,hj->hi", state, a[t])
        state = (
            state * w[t][:, None, :]
            + turned[:, :, None] * b[t][:, None, :]
            + v[t][:, :, None] * k[t][:, None, :]
        )
        y[t] = np.einsum("hij,hj->hi", state, r[t])
    return y


def unit(sign):
    """Vectors of length one, or the other way round: others would let the state grow."""

    def draw(random, shape, _):
        values = random.standard_normal(shape, dtype=np.float32)
        return np.float32(sign) * values / np.linalg.norm(values, axis=-1, keepdims=True)

    plain = normal("tokens", "heads", "dims")
    return Input(plain.shape, None, "on the unit sphere", draw, stream="key")


@task(
    sizes=dict(
        small=dict(tokens=5, heads=2, dims=32),
        odd1=dict(tokens=37, heads=3, dims=33),
        odd2=dict(tokens=3, heads=1, dims=80),
        seed=dict(tokens=64, heads=8, dims=64),
        large=dict(tokens=1024, heads=64, dims=64),
    ),
    gpu_headline="large",
    inputs=dict(
        r=normal("tokens", "heads", "dims").only(),
        w=uniform("tokens", "heads", "dims", low=0.55, high=0.99),
        k=normal("tokens", "heads", "dims").only(),
        v=normal("tokens", "heads", "dims").only(),
        a=unit(-1),
        b=unit(0.5),
    ),
    outputs=dict(y=output("tokens", "heads", "dims")),
    oracle=recurred,
    # Of a token's answer the terms are as many as the key has elements.
    scale=lambda r, w, k, v, a, b: (
        np.abs(recurred(r, w, k, v, a, b))
        + np.broadcast_to(np.abs(v) * np.abs(r * k).sum(axis=-1, keepdims=True), v.shape)
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="10 * tokens * heads * dims * dims",
    baseline="a loop over tokens",
)
def wkv7(r, w, k, v, a, b):
    tokens, heads, dims = r.shape
    kind = r.dtype
    r, w, k, v, a, b = (each.astype(mx.float32) for each in (r, w, k, v, a, b))
    state = mx.zeros((heads, dims, dims))
    steps = []
    for t in range(tokens):
        turned = state @ a[t][:, :, None]
        state = state * w[t][:, None] + turned @ b[t][:, None] + v[t][:, :, None] @ k[t][:, None]
        steps.append((state @ r[t][:, :, None])[..., 0])
    return mx.stack(steps).astype(kind)
