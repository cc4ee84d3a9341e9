"""Decode attention over a quantised cache: shared inputs, sizes, oracles and references."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.formats.affine import Affine
from metalbench.formats.drawn import quantised
from metalbench.task import Input, coarse, even, normal, sparse
from metalbench.task.decoding import attention_weights, mix_values

Array = np.ndarray[Any, Any]
GROUP = 64
SIZES = dict(
    small=dict(heads=4, kv_heads=2, keys=37, dims=64),
    odd1=dict(heads=3, kv_heads=1, keys=53, dims=192),
    odd2=dict(heads=5, kv_heads=1, keys=130, dims=256),
    seed=dict(heads=16, kv_heads=4, keys=600, dims=128),
    large=dict(heads=32, kv_heads=8, keys=32768, dims=128),
)
FLOPS = "4 * heads * keys * dims + 5 * heads * keys"


def cache_inputs(bits: int) -> Mapping[str, Input]:
    """Queries, and keys and values in parts: words, scales and biases for groups of 64."""
    gentle = (even(), coarse(), sparse())
    dims = ("kv_heads", "keys", "dims")
    form = Affine(bits, GROUP)
    return dict(
        q=normal("heads", "dims").only(*gentle),
        **quantised(*dims, format=form, name="k", plain=normal(*dims).only(*gentle)),
        **quantised(*dims, format=form, name="v", plain=normal(*dims).only(*gentle)),
    )


def traffic(bits: int, keys: str = "keys") -> str:
    """Return the bytes of traffic: `keys` rows of codes, scales and biases, queries, output."""
    row = f"(dims * {bits} / 8 + 2 * dims / {GROUP} * itemsize)"
    return f"2 * kv_heads * {keys} * {row} + 2 * heads * dims * itemsize"


def draw_decoding_size(random: np.random.Generator) -> dict[str, int]:
    """Return a size whose heads share keys evenly, of whole groups."""
    kv_heads = int(random.integers(1, 5))
    return dict(
        heads=kv_heads * int(random.integers(1, 6)),
        kv_heads=kv_heads,
        keys=int(random.integers(20, 1025)),
        dims=GROUP * int(random.integers(1, 4)),
    )


def decode_exactly(
    bits: int,
    q: Array,
    k: Sequence[Array],
    v: Sequence[Array],
    *,
    sinks: Array | None = None,
    rows: Any = slice(None),
    sizes: bool = False,
) -> Array:
    """Return the output (heads, dims) over those `rows`; with `sizes`, sums of absolute terms."""
    form = Affine(bits, GROUP)
    shares = attention_weights(q, form.dequantised(*k)[:, rows], sinks)
    values = form.magnitudes(*v) if sizes else form.dequantised(*v)
    return mix_values(shares, values[:, rows])


def decode_with_mlx(
    bits: int, q: Any, k: Sequence[Any], v: Sequence[Any], *, sinks: Any = None, mask: Any = None
) -> Any:
    """Return the same by MLX's products with weights of few bits and its softmax."""
    heads, dims = q.shape
    shared = (q / math.sqrt(dims)).reshape(len(k[0]), -1, dims)
    scores = _product(bits, shared, k, transpose=True)
    if mask is not None:
        scores = mx.where(mask, scores, -math.inf)
    if sinks is not None:
        scores = mx.concatenate([scores, sinks.reshape(len(k[0]), -1, 1)], axis=-1)
    shares = mx.softmax(scores, axis=-1, precise=True)
    if sinks is not None:
        shares = shares[..., :-1]
    return _product(bits, shares, v, transpose=False).reshape(heads, dims)


def _product(bits: int, x: Any, rows: Sequence[Any], *, transpose: bool) -> Any:
    words, scales, biases = rows
    return mx.quantized_matmul(
        x, words, scales, biases, transpose=transpose, group_size=GROUP, bits=bits
    )
