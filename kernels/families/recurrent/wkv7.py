"""The state of RWKV-7: it decays by column, is turned along one direction, and takes a value in."""

import mlx.core as mx
import numpy as np

from metalbench.task import Input, normal, output, task, uniform
from metalbench.task.recurrences import state_input, unit_vectors


def recurred(r, w, k, v, a, rate, state, terms=False):
    """Token after token: S = S diag(w) - (S a) (rate a)^T + v k^T, y = S r."""
    y, sizes = np.empty_like(v), np.abs(state)
    for t in range(len(r)):
        said = np.einsum("hvk,hk->hv", state, a[t])
        spoken = np.einsum("hvk,hk->hv", np.abs(state), np.abs(a[t]))
        turn = rate[t] * a[t]
        state = state * w[t][:, None, :] - said[:, :, None] * turn[:, None, :]
        state = state + v[t][:, :, None] * k[t][:, None, :]
        sizes = sizes * np.abs(w[t][:, None, :]) + spoken[:, :, None] * np.abs(turn)[:, None, :]
        sizes = sizes + np.abs(v[t][:, :, None] * k[t][:, None, :])
        asked = (sizes, np.abs(r[t])) if terms else (state, r[t])
        y[t] = np.einsum("hvk,hk->hv", *asked)
    return y, sizes if terms else state


def vector() -> Input:
    return normal("tokens", "heads", "dims").only()


@task(
    sizes=dict(
        small=dict(tokens=5, heads=2, dims=32),
        odd1=dict(tokens=37, heads=3, dims=33),
        odd2=dict(tokens=3, heads=1, dims=130),
        seed=dict(tokens=64, heads=16, dims=64),
        large=dict(tokens=2048, heads=64, dims=64),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        r=vector(),
        w=uniform("tokens", "heads", "dims", low=0.55, high=1.0),
        k=vector(),
        v=normal("tokens", "heads", "dims"),
        a=unit_vectors("tokens", "heads", "dims"),
        rate=uniform("tokens", "heads", "dims"),
        state=state_input("heads", "dims", "dims"),
    ),
    outputs=dict(
        y=output("tokens", "heads", "dims"), left=output("heads", "dims", "dims", dtype="float32")
    ),
    oracle=lambda r, w, k, v, a, rate, state: recurred(r, w, k, v, a, rate, state),
    scale=lambda r, w, k, v, a, rate, state: recurred(r, w, k, v, a, rate, state, True),
    dtypes=("float32", "float16", "bfloat16"),
    flops="8 * tokens * heads * dims * dims",
    baseline="a loop over tokens",
)
def wkv7(r, w, k, v, a, rate, state):
    wide = [each.astype(mx.float32) for each in (r, w, k, v, a, rate)]
    steps = []
    for t in range(len(r)):
        query, kept, key, value, along, much = (each[t] for each in wide)
        said = state @ along[:, :, None]
        state = (
            state * kept[:, None]
            - said * (much * along)[:, None]
            + value[:, :, None] * key[:, None]
        )
        steps.append((state @ query[:, :, None])[:, :, 0])
    return mx.stack(steps).astype(v.dtype), state
