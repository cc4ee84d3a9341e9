"""Prefill attention: many queries, heads that share keys. Shared inputs, sizes and oracles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from metalbench.task.inputs import Input, normal
from metalbench.task.variation import coarse, even, sparse

Array = np.ndarray[Any, Any]
PREFILL_SIZES = dict(
    small=dict(heads=4, kv_heads=2, tokens=16, dims=32),
    odd1=dict(heads=3, kv_heads=1, tokens=37, dims=80),
    odd2=dict(heads=2, kv_heads=2, tokens=130, dims=72),
    seed=dict(heads=8, kv_heads=2, tokens=256, dims=64),
    large=dict(heads=32, kv_heads=8, tokens=2048, dims=128),
)
# For inputs of scores. With large scores the softmax selects one key, which rounding decides.
GENTLE_VARIATIONS = (even(), coarse(), sparse())


def prefill_inputs() -> Mapping[str, Input]:
    """Queries, keys and values: (heads, tokens, dims), the latter two of `kv_heads`."""
    return dict(
        q=normal("heads", "tokens", "dims").only(*GENTLE_VARIATIONS),
        k=normal("kv_heads", "tokens", "dims").only(*GENTLE_VARIATIONS),
        v=normal("kv_heads", "tokens", "dims"),
    )


def draw_prefill_size(random: np.random.Generator) -> dict[str, int]:
    """Return a size whose heads share keys evenly."""
    kv_heads = int(random.integers(1, 4))
    return dict(
        heads=kv_heads * int(random.integers(1, 4)),
        kv_heads=kv_heads,
        tokens=int(random.integers(16, 257)),
        dims=8 * int(random.integers(4, 17)),
    )


def attend(
    q: Array,
    k: Array,
    v: Array,
    *,
    seen: Array | None = None,
    bias: Array | None = None,
    sinks: Array | None = None,
    sizes: bool = False,
) -> Array:
    """Return the attention (heads, queries, value dims) of `q` (heads, queries, dims), `k`, `v`.

    `seen` (queries, keys) masks keys; each query sees at least one. `bias` (heads, queries, keys)
    is added to scores. `sinks` (heads) are logits without a value. With `sizes`, return the error
    scale instead: sums of absolute terms times 1 + the largest score.
    """
    shared = len(q) // len(k)
    found = np.empty_like(q, shape=(*q.shape[:-1], v.shape[-1]), order="C")
    for h in range(len(q)):
        scores = q[h] @ k[h // shared].T / math.sqrt(q.shape[-1])
        if bias is not None:
            scores = scores + bias[h]
        if seen is not None:
            scores = np.where(seen, scores, -np.inf)
        shares = _shares(scores, None if sinks is None else sinks[h])
        values = v[h // shared]
        found[h] = shares @ (np.abs(values) if sizes else values)
        if sizes:
            largest = np.where(np.isfinite(scores), np.abs(scores), 0).max(axis=-1)
            found[h] *= 1 + largest[:, None]
    return found


def _shares(scores: Array, sink: float | None) -> Array:
    """Return the softmax weights of every key, without the weight of the sink."""
    peak = scores.max(axis=-1, keepdims=True)
    if sink is not None:
        peak = np.maximum(peak, sink)
    shares = np.exp(scores - peak)
    whole = shares.sum(axis=-1, keepdims=True)
    if sink is not None:
        whole = whole + np.exp(sink - peak)
    found: Array = shares / whole
    return found
