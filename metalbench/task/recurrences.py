"""Linear recurrences over tokens with one state matrix per head, for oracles.

A state is (heads, rows, cols). Values of a token have `rows` elements, keys and queries `cols`.
Each oracle also computes its sums of absolute terms, the scale of rounding errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from metalbench.task.dtypes import dtype
from metalbench.task.inputs import Array as TaskArray
from metalbench.task.inputs import Input, normal, output, uniform

Array = np.ndarray[Any, Any]


def unit_vectors(*dims: str) -> Input:
    """Return vectors of length one: longer keys would let a state grow without end."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], _: Any) -> Array:
        values = random.standard_normal(shape, dtype=np.float32)
        lengths = np.linalg.norm(values, axis=-1, keepdims=True)
        return np.asarray(values / lengths, np.float32)

    return replace(normal(*dims), distribution="on the unit sphere", draw=draw, variations=())


def state_input(*dims: str) -> Input:
    """Return an initial state, always float32: half types would accumulate errors."""
    return replace(normal(*dims).only(), dtype=dtype("float32"))


def delta_inputs(*decay: str) -> Mapping[str, Input]:
    """Return the inputs of `delta_rule`; `decay` are the dims of its decay."""
    return dict(
        q=unit_vectors("tokens", "k_heads", "cols"),
        k=unit_vectors("tokens", "k_heads", "cols"),
        v=normal("tokens", "heads", "rows"),
        decay=uniform(*decay, low=0.8, high=1.0),
        beta=uniform("tokens", "heads", low=0.1, high=1.0),
        state=state_input("heads", "rows", "cols"),
    )


def delta_outputs() -> Mapping[str, TaskArray]:
    """Return the outputs of `delta_rule`."""
    return dict(
        y=output("tokens", "heads", "rows"),
        left=output("heads", "rows", "cols", dtype="float32"),
    )


def delta_size_sampler(longest: int) -> Callable[[np.random.Generator], dict[str, int]]:
    """Return a function that draws a size of at most `longest` tokens."""
    return lambda random: dict(
        tokens=int(random.integers(5, longest + 1)),
        heads=4,
        k_heads=int(2 ** random.integers(0, 3)),
        rows=int(random.integers(8, 65)),
        cols=int(random.integers(16, 129)),
    )


def delta_rule(
    q: Array, k: Array, v: Array, decay: Array, beta: Array, *, state: Array, terms: bool = False
) -> tuple[Array, Array]:
    """Return y and the last state of S = g S, S = S + beta (v - S k) k^T, y = S q for each token.

    `q`, `k` (tokens, k_heads, cols), `v` (tokens, heads, rows), `beta` (tokens, heads), `decay`
    (tokens, heads) or (tokens, heads, cols). With `terms`, return sums of absolute terms. Source:
    Yang et al., "Gated delta networks: improving Mamba2 with delta rule" (2024).
    """
    tokens, heads, _ = v.shape
    keys, queries = (np.repeat(each, heads // k.shape[1], axis=1) for each in (k, q))
    gates = decay.reshape(*decay.shape[:2], -1)
    y, sizes = np.empty_like(v), np.abs(state)
    for t in range(tokens):
        gate = gates[t][:, None, :]
        state, sizes = gate * state, np.abs(gate) * sizes
        said = np.einsum("hvk,hk->hv", state, keys[t])
        change = beta[t][:, None] * (v[t] - said)
        if terms:
            spoken = np.einsum("hvk,hk->hv", np.abs(state), np.abs(keys[t]))
            largest = np.abs(beta[t][:, None]) * (np.abs(v[t]) + spoken)
            sizes = sizes + largest[:, :, None] * np.abs(keys[t])[:, None, :]
        state = state + change[:, :, None] * keys[t][:, None, :]
        asked = (sizes, np.abs(queries[t])) if terms else (state, queries[t])
        y[t] = np.einsum("hvk,hk->hv", *asked)
    return y, sizes if terms else state


def linear_attention(
    q: Array, k: Array, v: Array, decay: Array, state: Array
) -> tuple[Array, Array]:
    """Return y and the last state of S = g S + v k^T, y = S q for each token.

    `q`, `k` (tokens, k_heads, cols), `v` (tokens, heads, rows), `decay` (tokens, heads). Absolute
    values as arguments give the sums of absolute terms.
    """
    shared = v.shape[1] // k.shape[1]
    y = np.empty_like(v)
    for t in range(len(v)):
        key, query = (np.repeat(each[t], shared, axis=0) for each in (k, q))
        state = decay[t][:, None, None] * state + v[t][:, :, None] * key[:, None, :]
        y[t] = np.einsum("hvk,hk->hv", state, query)
    return y, state
