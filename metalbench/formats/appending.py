"""Declare tasks on quantised caches: append rows to a cache, and read its filled rows.

Caches are words (heads, rows, dims * bits / 32) with scales and biases (heads, rows, dims / 64).
"""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.formats.affine import Affine
from metalbench.formats.drawn import quantised
from metalbench.task import Task, distinct, normal, output, task

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
        baseline="mx.quantize, cache[:, position] = rows",
    )(reference)


def dequantize_rows_task(name: str, bits: int) -> Task:
    """Return the task of dequantising the filled rows of a cache, all but the last `spare`."""
    form = Affine(bits, GROUP)

    def of(function: Any) -> Any:
        def found(cache: Any, cache_scales: Any, cache_biases: Any, spare: int) -> Any:
            rows = cache.shape[1] - spare
            return function(*(each[:, :rows] for each in (cache, cache_scales, cache_biases)))

        return found

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
