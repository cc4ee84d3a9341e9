"""Rotary position embeddings in NumPy, for oracles. Element i is paired with i + dims / 2."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.expression import Expression, parse
from metalbench.task.declaration import Task, task
from metalbench.task.inputs import Input, Variation, coarse, even, normal, output, sparse

Array = np.ndarray[Any, Any]

# (heads, tokens, dims), or (tokens, heads, dims).
ROPE_SIZES = {
    "small": {"heads": 4, "tokens": 8, "dims": 16},
    "odd1": {"heads": 3, "tokens": 37, "dims": 80},
    "odd2": {"heads": 5, "tokens": 13, "dims": 44},
    "seed": {"heads": 16, "tokens": 256, "dims": 128},
    "large": {"heads": 32, "tokens": 4096, "dims": 128},
}


def rotary_frequencies(dims: int, base: float) -> Array:
    """Return base^(-2i / dims) of every pair i: (dims / 2)."""
    return np.asarray(float(base) ** (-np.arange(0, dims, 2) / dims))


def rotate_halves(x: Array, angle: Array) -> Array:
    """Return columns i and i + half of `x` (..., dims), turned by `angle` (..., dims / 2)."""
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    s, c = np.sin(angle), np.cos(angle)
    return np.concatenate([a * c - b * s, a * s + b * c], axis=-1)


def rotation_magnitude(x: Array, angle: Array) -> Array:
    """Return the error scale: the length of a pair times 1 + its angle, whose rounding counts."""
    half = x.shape[-1] // 2
    length = np.hypot(x[..., :half], x[..., half:]) * (1 + np.abs(angle))
    return np.concatenate([length, length], axis=-1)


# Decode attention: one query per head attends to a cache. Shared inputs, sizes and oracles.

DECODING_SIZES = dict(
    small=dict(heads=4, kv_heads=2, keys=37, dims=32),
    odd1=dict(heads=3, kv_heads=3, keys=53, dims=81),
    odd2=dict(heads=5, kv_heads=1, keys=130, dims=256),
    seed=dict(heads=32, kv_heads=8, keys=1024, dims=128),
    dims64=dict(heads=32, kv_heads=8, keys=4096, dims=64),
    dims96=dict(heads=32, kv_heads=32, keys=4096, dims=96),
    dims256=dict(heads=16, kv_heads=8, keys=4096, dims=256),
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


# Prefill attention: many queries, heads that share keys. Shared inputs, sizes and oracles.

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


def see_window(tokens: int, width: int) -> Array:
    """Return whether a query (row) sees a key: the last `width` tokens up to itself."""
    behind = np.arange(tokens)[:, None] - np.arange(tokens)
    return np.asarray((behind >= 0) & (behind < width))


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
    cap: float | None = None,
    sizes: bool = False,
) -> Array:
    """Return the attention (heads, queries, value dims) of `q` (heads, queries, dims), `k`, `v`.

    `seen` (queries, keys) masks keys; each query sees at least one. `bias` (heads, queries, keys)
    is added to scores. `sinks` (heads) are logits without a value. Scores s become
    cap tanh(s / cap) if `cap` is given. With `sizes`, return the error scale instead: sums of
    absolute terms times 1 + the largest score.
    """
    shared = len(q) // len(k)
    found = np.empty_like(q, shape=(*q.shape[:-1], v.shape[-1]), order="C")
    parts = [(slice(None), slice(None))] if seen is None else list(_split_by_mask(seen))
    for h, (queries, keys) in itertools.product(range(len(q)), parts):
        scores = q[h, queries] @ k[h // shared, keys].T / math.sqrt(q.shape[-1])
        if cap is not None:
            scores = cap * np.tanh(scores / cap)
        if bias is not None:
            scores = scores + bias[h, queries, keys]
        if seen is not None:
            scores = np.where(seen[queries, keys], scores, -np.inf)
        shares = _shares(scores, None if sinks is None else sinks[h])
        values = v[h // shared, keys]
        mixed = shares @ (np.abs(values) if sizes else values)
        if sizes:
            largest = np.where(np.isfinite(scores), np.abs(scores), 0).max(axis=-1)
            mixed *= 1 + largest[:, None]
        found[h, queries] = mixed
    return found


def _split_by_mask(seen: Array) -> Iterator[tuple[slice, slice]]:
    """Yield 256 queries at a time, with a range of keys beyond which they see none.

    The range has all keys if they see none at all.
    """
    for first in range(0, len(seen), 256):
        queries = slice(first, first + 256)
        keys = np.flatnonzero(seen[queries].any(axis=0))
        yield queries, slice(keys[0], keys[-1] + 1) if keys.size else slice(None)


def causal_task(name: str, most_dims: int, *, sizes: Mapping[str, Mapping[str, int]]) -> Task:
    """Return the task of causal attention of heads of up to `most_dims` dims."""

    def oracle(q: Array, k: Array, v: Array) -> Array:
        return attend(q, k, v, seen=np.tri(q.shape[1]) > 0)

    def scale(q: Array, k: Array, v: Array) -> Array:
        return attend(q, k, v, seen=np.tri(q.shape[1]) > 0, sizes=True)

    def draw(random: np.random.Generator) -> dict[str, int]:
        return dict(
            heads=4,
            kv_heads=int(2 ** random.integers(0, 3)),
            tokens=int(random.integers(16, 130)),
            dims=8 * int(random.integers(4, most_dims // 8 + 1)),
        )

    def reference(q: Any, k: Any, v: Any) -> Any:
        heads = (each[None] for each in (q, k, v))
        factor = 1 / math.sqrt(q.shape[-1])
        return mx.fast.scaled_dot_product_attention(*heads, scale=factor, mask="causal")[0]

    reference.__name__ = name
    return task(
        sizes=sizes,
        gpu_headlines=("large",),
        inputs=prefill_inputs(),
        outputs=dict(y=output("heads", "tokens", "dims")),
        draw=draw,
        oracle=oracle,
        scale=scale,
        dtypes=("float32", "float16", "bfloat16"),
        flops="2 * heads * tokens * tokens * dims",
        baseline="mx.fast.scaled_dot_product_attention(mask='causal')",
    )(reference)


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


# Inputs for partly filled caches. The rows after the filled ones are NaN and must not be read.


@dataclass(frozen=True, kw_only=True)
class Cache(Input):
    """A cache with rows along the second last axis. The first `filled` rows hold values."""

    filled: Expression

    def draw_array(
        self, random: np.random.Generator, values: Mapping[str, int], seed: int
    ) -> Array:
        """Return the array for `values` of the sizes, float32."""
        rows = super().draw_array(random, values, seed).copy()
        rows[..., self.filled.evaluate(values) :, :] = np.nan
        return rows


def cache(*dims: str | int, filled: str, variations: tuple[Variation, ...] | None = None) -> Cache:
    """Return a cache of shape `dims` with `filled` rows of normal numbers and these variations."""
    plain = normal(*dims)
    if variations is not None:
        plain = plain.only(*variations)
    same = {each.name: getattr(plain, each.name) for each in fields(Input)}
    return Cache(**same, filled=parse(filled))
