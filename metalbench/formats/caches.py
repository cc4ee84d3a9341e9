"""Declare tasks on quantised caches: append rows to a cache, and read its filled rows.

Caches are words (heads, rows, dims * bits / 32) with scales and biases (heads, rows, dims / 64).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.formats.encodings import Affine
from metalbench.formats.inputs import quantised
from metalbench.task import (
    Input,
    Task,
    coarse,
    distinct,
    even,
    integers,
    normal,
    output,
    sparse,
    task,
)
from metalbench.task.attention import attend, attention_weights, mix_values

Array = np.ndarray[Any, Any]
GROUP = 64
TYPES = ("float32", "float16", "bfloat16")


def place_rows(parts: Any, fresh: Any, position: Any) -> Any:
    """Write the parts of new rows (tokens, heads, ...) into a cache and return its parts."""
    for part, rows in zip(parts, fresh, strict=True):
        part[:, position] = rows.swapaxes(0, 1)
    return tuple(parts)


def append_task(name: str, bits: int) -> Task:
    """Return the task of appending rows to a cache.

    Codes are exact: they follow from single-precision arithmetic as in MLX's quantisation.
    """
    form = Affine(bits, GROUP)

    def oracle(
        cache: Array,
        cache_scales: Array,
        cache_biases: Array,
        fresh: Array,
        position: Array,
    ) -> Any:
        parts = [each.copy() for each in (cache, cache_scales, cache_biases)]
        return place_rows(parts, form.quantised(fresh), position.astype(np.int64))

    def reference(
        cache: mx.array,
        cache_scales: mx.array,
        cache_biases: mx.array,
        fresh: mx.array,
        position: mx.array,
    ) -> Any:
        parts = [mx.array(each) for each in (cache, cache_scales, cache_biases)]
        return place_rows(parts, mx.quantize(fresh, group_size=GROUP, bits=bits), position)

    reference.__name__ = name
    rows, groups = (
        ("heads", "length", f"dims * {bits} / 32"),
        ("heads", "length", f"dims / {GROUP}"),
    )
    bytes_each = f"(dims * {bits} / 8 + 2 * dims / {GROUP} * itemsize)"
    return task(
        sizes=dict(
            small=dict(heads=2, length=16, tokens=3, dims=64),
            odd1=dict(heads=3, length=37, tokens=37, dims=192),
            odd2=dict(heads=1, length=101, tokens=5, dims=320),
            seed=dict(heads=8, length=1024, tokens=64, dims=128),
            large=dict(heads=8, length=65536, tokens=512, dims=128),
        ),
        gpu_headlines=("large",),
        inputs=dict(
            **quantised("heads", "length", "dims", format=form, name="cache"),
            fresh=normal("tokens", "heads", "dims"),
            position=distinct("tokens", below="length"),
        ),
        outputs=dict(
            y=output(*rows, dtype="uint32"), y_scales=output(*groups), y_biases=output(*groups)
        ),
        draw=lambda random: dict(
            heads=int(random.integers(1, 9)),
            length=int(random.integers(64, 1025)),
            tokens=int(random.integers(1, 65)),
            dims=GROUP * int(random.integers(1, 4)),
        ),
        oracle=oracle,
        dtypes=TYPES,
        flops="8 * tokens * heads * dims",
        bytes=f"2 * heads * length * {bytes_each} + tokens * heads * dims * itemsize + 4 * tokens",
        inout=dict(cache="y", cache_scales="y_scales", cache_biases="y_biases"),
        inout_bytes=f"tokens * (heads * ({bytes_each} + dims * itemsize) + 4)",
        baseline="mx.quantize, cache[:, position] = rows",
    )(reference)


def dequantize_rows_task(name: str, bits: int) -> Task:
    """Return the task of dequantising the filled rows of a cache, all but the last `spare`."""
    form = Affine(bits, GROUP)

    def of(function: Any) -> Any:
        def read_rows(cache: Any, cache_scales: Any, cache_biases: Any, spare: int) -> Any:
            rows = cache.shape[1] - spare
            return function(*(each[:, :rows] for each in (cache, cache_scales, cache_biases)))

        return read_rows

    def reference(cache: Any, cache_scales: Any, cache_biases: Any, spare: int) -> Any:
        rows = of(lambda w, s, b: mx.dequantize(w, s, b, group_size=GROUP, bits=bits))
        return rows(cache, cache_scales, cache_biases, spare)

    reference.__name__ = name
    row = f"(dims * {bits} / 8 + 2 * dims / {GROUP} * itemsize)"
    return task(
        sizes=dict(
            small=dict(heads=2, keys=16, dims=64),
            odd1=dict(heads=3, keys=37, dims=192),
            odd2=dict(heads=1, keys=101, dims=320),
            seed=dict(heads=8, keys=1024, dims=128),
            large=dict(heads=8, keys=32768, dims=128),
        ),
        gpu_headlines=("large",),
        inputs=quantised("heads", "keys + spare", "dims", format=form, name="cache"),
        outputs=dict(y=output("heads", "keys", "dims")),
        constants=dict(spare=45),
        multiples=dict(dims=GROUP),
        oracle=of(form.dequantised),
        scale=of(form.magnitudes),
        dtypes=TYPES,
        flops="2 * heads * keys * dims",
        bytes=f"heads * keys * ({row} + dims * itemsize)",
        baseline="mx.dequantize",
    )(reference)


# Decode attention over a quantised cache: shared inputs, sizes, oracles and references.

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


def traffic(bits: int, keys: str = "keys", queries: str = "heads") -> str:
    """Return the bytes of traffic: `keys` rows of codes, scales and biases, queries, output."""
    row = f"(dims * {bits} / 8 + 2 * dims / {GROUP} * itemsize)"
    return f"2 * kv_heads * {keys} * {row} + 2 * {queries} * dims * itemsize"


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


# Attention of a block of new tokens over a quantised cache that holds them and what came before.

PREFIX_SIZES = dict(
    small=dict(heads=4, kv_heads=2, tokens=8, before=21, dims=64),
    odd1=dict(heads=3, kv_heads=1, tokens=37, before=5, dims=192),
    odd2=dict(heads=2, kv_heads=2, tokens=1, before=130, dims=256),
    seed=dict(heads=8, kv_heads=2, tokens=32, before=500, dims=128),
    large=dict(heads=32, kv_heads=8, tokens=512, before=8192, dims=128),
)


def prefix_inputs(bits: int) -> Mapping[str, Input]:
    """Queries (tokens, heads, dims), and keys and values in parts."""
    gentle = (even(), coarse(), sparse())
    dims = ("kv_heads", "before + tokens", "dims")
    form = Affine(bits, GROUP)
    return dict(
        q=normal("tokens", "heads", "dims").only(*gentle),
        **quantised(*dims, format=form, name="k", plain=normal(*dims).only(*gentle)),
        **quantised(*dims, format=form, name="v", plain=normal(*dims).only(*gentle)),
    )


def draw_prefix_size(random: np.random.Generator) -> dict[str, int]:
    """Return a size whose heads share keys evenly, of whole groups."""
    return dict(
        heads=4,
        kv_heads=int(2 ** random.integers(0, 3)),
        tokens=int(random.integers(1, 65)),
        before=int(random.integers(1, 513)),
        dims=GROUP * int(random.integers(1, 4)),
    )


def read_block_exactly(
    bits: int, q: Array, k: Sequence[Array], v: Sequence[Array], *, sizes: bool = False
) -> Array:
    """Return the causal attention (tokens, heads, dims); with `sizes`, the error scale."""
    form = Affine(bits, GROUP)
    keys = form.dequantised(*k)
    values = form.magnitudes(*v) if sizes else form.dequantised(*v)
    seen = np.tri(len(q), keys.shape[1], keys.shape[1] - len(q)) > 0
    return attend(q.swapaxes(0, 1), keys, values, seen=seen, sizes=sizes).swapaxes(0, 1)


def read_block_with_mlx(bits: int, q: Any, k: Sequence[Any], v: Sequence[Any]) -> Any:
    """Return the same by MLX's attention over keys and values that it dequantises first."""
    keys, values = (
        mx.dequantize(words, scales, biases, group_size=GROUP, bits=bits)[None]
        for words, scales, biases in (k, v)
    )
    y = mx.fast.scaled_dot_product_attention(
        q.swapaxes(0, 1)[None], keys, values, scale=1 / math.sqrt(q.shape[-1]), mask="causal"
    )
    return y[0].swapaxes(0, 1)


def prefix_task(name: str, bits: int) -> Task:
    """Return the task of causal attention of new tokens over a quantised cache that has them."""

    def reference(  # noqa: PLR0917
        q: Any, k: Any, k_scales: Any, k_biases: Any, v: Any, v_scales: Any, v_biases: Any
    ) -> Any:
        return read_block_with_mlx(bits, q, (k, k_scales, k_biases), (v, v_scales, v_biases))

    reference.__name__ = name
    return task(
        sizes=PREFIX_SIZES,
        gpu_headlines=("large",),
        inputs=prefix_inputs(bits),
        outputs=dict(y=output("tokens", "heads", "dims")),
        draw=draw_prefix_size,
        oracle=lambda q, k, k_scales, k_biases, v, v_scales, v_biases: read_block_exactly(
            bits, q, (k, k_scales, k_biases), (v, v_scales, v_biases)
        ),
        scale=lambda q, k, k_scales, k_biases, v, v_scales, v_biases: read_block_exactly(
            bits, q, (k, k_scales, k_biases), (v, v_scales, v_biases), sizes=True
        ),
        dtypes=TYPES,
        flops="4 * heads * tokens * (before + tokens) * dims",
        bytes=traffic(bits, "(before + tokens)", "heads * tokens"),
        baseline="mx.dequantize, mx.fast.scaled_dot_product_attention(mask='causal')",
    )(reference)


# A step of decoding: a new key and value into quantised caches, and attention up to them.

STEP_SIZES = dict(
    small=dict(heads=4, kv_heads=2, length=37, dims=64),
    odd1=dict(heads=3, kv_heads=1, length=53, dims=192),
    odd2=dict(heads=5, kv_heads=1, length=130, dims=256),
    seed=dict(heads=16, kv_heads=4, length=600, dims=128),
    large=dict(heads=32, kv_heads=8, length=32768, dims=128),
)
PARTS = ("", "_scales", "_biases")


def step_inputs(bits: int) -> Mapping[str, Input]:
    """Queries, caches of keys and values in parts, new rows of both, and their position."""
    gentle = (even(), coarse(), sparse())
    dims = ("kv_heads", "length", "dims")
    form = Affine(bits, GROUP)
    return dict(
        q=normal("heads", "dims").only(*gentle),
        **quantised(*dims, format=form, name="k", plain=normal(*dims).only(*gentle)),
        **quantised(*dims, format=form, name="v", plain=normal(*dims).only(*gentle)),
        k_new=normal("kv_heads", "dims").only(*gentle),
        v_new=normal("kv_heads", "dims").only(*gentle),
        position=integers(1, low="length / 2", high="length"),
    )


def step_outputs(bits: int) -> Mapping[str, Any]:
    """The output `y` (heads, dims), and both caches in parts: `y_k`, `y_k_scales`, ..."""
    words = output("kv_heads", "length", f"dims * {bits} / 32", dtype="uint32")
    groups = output("kv_heads", "length", f"dims / {GROUP}")
    arrays = (words, groups, groups)
    return dict(
        y=output("heads", "dims"),
        **{f"y_k{part}": each for part, each in zip(PARTS, arrays, strict=True)},
        **{f"y_v{part}": each for part, each in zip(PARTS, arrays, strict=True)},
    )


# Which input becomes which output.
STEP_INOUT = {f"{name}{part}": f"y_{name}{part}" for name in "kv" for part in PARTS}


def step_traffic(bits: int, rows: str) -> str:
    """Return the bytes of traffic of `rows` rows of each cache, queries, output and new rows."""
    row = f"(dims * {bits} / 8 + 2 * dims / {GROUP} * itemsize)"
    return f"2 * kv_heads * ({rows} * {row} + dims * itemsize) + 2 * heads * dims * itemsize + 4"


def draw_step_size(random: np.random.Generator) -> dict[str, int]:
    """Return a size whose heads share keys evenly, of whole groups."""
    size = draw_decoding_size(random)
    return dict(length=size.pop("keys"), **size)


def step_exactly(
    bits: int,
    q: Array,
    caches: Sequence[Sequence[Array]],
    new: Sequence[Array],
    position: Array,
    *,
    sizes: bool = False,
) -> Any:
    """Return the output and the six parts of both caches; with `sizes`, the error scale."""
    form = Affine(bits, GROUP)
    at = position.astype(np.int64)
    k, v = (
        place_rows([part.copy() for part in cache], form.quantised(rows[None]), at)
        for cache, rows in zip(caches, new, strict=True)
    )
    seen = slice(0, int(at[0]) + 1)
    y = decode_exactly(bits, q, k, v, rows=seen, sizes=sizes)
    parts = (*k, *v)
    return (y, *(np.abs(part) if sizes else part for part in parts))


def step_with_mlx(
    bits: int, q: Any, caches: Sequence[Sequence[Any]], new: Sequence[Any], position: Any
) -> Any:
    """Return the same by MLX."""
    k, v = (
        place_rows(
            [mx.array(part) for part in cache],
            mx.quantize(rows[None], group_size=GROUP, bits=bits),
            position,
        )
        for cache, rows in zip(caches, new, strict=True)
    )
    y = decode_with_mlx(bits, q, k, v, mask=mx.arange(k[0].shape[1]) <= position)
    return (y, *k, *v)


def step_task(name: str, bits: int) -> Task:
    """Return the task of a step of decoding: a new key and value into caches, and attention."""

    def exact(*arrays: Array, sizes: bool = False) -> Any:
        q, *parts, k_new, v_new, position = arrays
        return step_exactly(bits, q, (parts[:3], parts[3:]), (k_new, v_new), position, sizes=sizes)

    def reference(  # noqa: PLR0917
        q: Any,
        k: Any,
        k_scales: Any,
        k_biases: Any,
        v: Any,
        v_scales: Any,
        v_biases: Any,
        k_new: Any,
        v_new: Any,
        position: Any,
    ) -> Any:
        caches = ((k, k_scales, k_biases), (v, v_scales, v_biases))
        return step_with_mlx(bits, q, caches, (k_new, v_new), position)

    reference.__name__ = name
    return task(
        sizes=STEP_SIZES,
        gpu_headlines=("large",),
        inputs=step_inputs(bits),
        outputs=step_outputs(bits),
        draw=draw_step_size,
        # A task reads the names of the arguments.
        oracle=lambda q, k, k_scales, k_biases, v, v_scales, v_biases, k_new, v_new, position: (  # noqa: PLW0108
            exact(q, k, k_scales, k_biases, v, v_scales, v_biases, k_new, v_new, position)
        ),
        scale=lambda q, k, k_scales, k_biases, v, v_scales, v_biases, k_new, v_new, position: exact(
            *(q, k, k_scales, k_biases, v, v_scales, v_biases, k_new, v_new, position), sizes=True
        ),
        dtypes=TYPES,
        # As if the caches were full.
        flops="4 * heads * length * dims",
        bytes=step_traffic(bits, "2 * length"),
        inout=STEP_INOUT,
        inout_bytes=step_traffic(bits, "(length + 1)"),
        baseline="mx.quantize, mx.quantized_matmul, mx.softmax",
    )(reference)
