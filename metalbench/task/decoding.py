"""Decode attention: one query per head attends to a cache. Shared inputs, sizes and oracles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from metalbench.task.inputs import Input, normal
from metalbench.task.variation import coarse, even, sparse

Array = np.ndarray[Any, Any]
DECODING_SIZES = dict(
    small=dict(heads=4, kv_heads=2, keys=37, dims=32),
    odd1=dict(heads=3, kv_heads=3, keys=53, dims=81),
    odd2=dict(heads=5, kv_heads=1, keys=130, dims=256),
    seed=dict(heads=32, kv_heads=8, keys=1024, dims=128),
    large=dict(heads=32, kv_heads=8, keys=32768, dims=128),
)
DECODING_FLOPS = "4 * heads * keys * dims + 5 * heads * keys"


def decoding_inputs() -> Mapping[str, Input]:
    """Return queries and a cache. Large scores are avoided: the softmax would select one key."""
    gentle = (even(), coarse(), sparse())
    return dict(
        q=normal("heads", "dims").only(*gentle),
        k=normal("kv_heads", "keys", "dims").only(*gentle),
        v=normal("kv_heads", "keys", "dims"),
    )


def draw_decoding_size(random: np.random.Generator) -> dict[str, int]:
    """Return a size whose heads share keys evenly."""
    kv_heads = int(random.integers(1, 9))
    return dict(
        heads=kv_heads * int(random.integers(1, 5)),
        kv_heads=kv_heads,
        keys=int(random.integers(20, 1025)),
        dims=int(random.integers(8, 129)),
    )


def attention_weights(q: Array, k: Array, sinks: Array | None = None) -> Array:
    """Return the softmax weights (heads, keys) of every head, without the weight of its sink."""
    heads, dims = q.shape
    shared = np.repeat(k, heads // len(k), axis=0)
    scores = np.einsum("hd,hkd->hk", q, shared) / math.sqrt(dims)
    peak = scores.max(axis=-1, keepdims=True)
    if sinks is not None:
        peak = np.maximum(peak, sinks[:, None])
    shares = np.exp(scores - peak)
    whole = shares.sum(axis=-1, keepdims=True)
    if sinks is not None:
        whole = whole + np.exp(sinks[:, None] - peak)
    found: Array = shares / whole
    return found


def mix_values(shares: Array, v: Array) -> Array:
    """Return the values by these shares."""
    found: Array = np.einsum("hk,hkd->hd", shares, np.repeat(v, len(shares) // len(v), axis=0))
    return found
