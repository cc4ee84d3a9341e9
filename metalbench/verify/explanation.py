"""What a kernel may have done instead: changed inputs for which its results would be right.

A hint of this module is tested before it is given. The oracle computes what comes out if, say, an
index wraps at 65536, and only if that is what the kernel has computed the hint says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from metalbench.errors import TaskError
from metalbench.task.workload import Workload

Array = np.ndarray[Any, Any]
Changed = tuple[str, Mapping[str, Array]]

# No oracle is asked about more elements of inputs than these, or for longer (in s).
MOST_ELEMENTS, MOST_SECONDS = 1 << 22, 2.0
# Of the root mean square of what comes out: a result that is explained is no further off, nor than
# this part of its distance from what was expected.
CLOSE, CLOSER = 1e-3, 1e-2
SIMD_WIDTH = 32
THREADS = (64, 128, 256, 512, 1024)
# By bits of an index: MSL's type.
INDEX_TYPES = {8: "uchar", 16: "ushort"}


def explanation(work: Workload, output: str, got: Array, bad: Array) -> str:
    """Return what explains the elements `bad` of `got`, or an empty string."""
    if not bad.any() or not got.size:
        return ""
    values = np.asarray(got, np.float64)
    if not np.isfinite(values[bad]).all():
        return _of_no_number(work, values, work.expected[output])
    if sum(each.size for each in work.inputs.values()) > MOST_ELEMENTS:
        return ""
    expected = np.asarray(work.expected[output], np.float64)
    end = perf_counter() + MOST_SECONDS
    for words, changed in _changes(work, work.output_shapes[output]):
        if perf_counter() > end:
            break
        if _explains(_expected(work, output, changed), values, expected, bad):
            return words
    return ""


def _expected(work: Workload, output: str, changed: Mapping[str, Array]) -> Array | None:
    """Return what the oracle makes of other inputs; None where it refuses them."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(
                replace(work, inputs={**work.inputs, **changed}).expected[output], np.float64
            )
    except TaskError:
        return None


def _explains(would_be: Array | None, got: Array, expected: Array, bad: Array) -> bool:
    """Whether a result is what came, and that is far from what was expected."""
    if would_be is None or not np.isfinite(would_be).all():
        return False
    off = float(np.abs(got - would_be).max())
    size = float(np.sqrt(np.square(would_be).mean()))
    error = float(np.abs(got - expected)[bad].max())
    return off <= CLOSE * size and off <= CLOSER * error


def _changes(work: Workload, output: tuple[int, ...]) -> Iterator[Changed]:
    """Mistakes that are often made, each with the inputs that come to the same."""
    for name, values in work.inputs.items():
        yield from _wrapped(name, values)
    yield from _partial(work.inputs, output)
    floats = {
        name: values
        for name, values in work.inputs.items()
        if work.task.inputs[name].type_in(work.dtype).is_float
    }
    for name, values in floats.items():
        if len(work.inputs) > 1:
            yield f"it is as if {name} were 0: is it added?", {name: np.zeros_like(values)}
            yield f"it is as if {name} were 1: is it multiplied by?", {name: np.ones_like(values)}
            yield f"it is as if {name} had the other sign", {name: -values}
        yield from _misread(name, values)


def _wrapped(name: str, values: Array) -> Iterator[Changed]:
    """An index in a type of 8 or 16 bits."""
    for bits, kind in INDEX_TYPES.items():
        period = 1 << bits
        words = (
            f"it is as if {{}} of {name} were taken modulo {period}: is it kept in {bits} bits "
            f"({kind})?"
        )
        if values.size > period:
            flat = values.reshape(-1)[np.arange(values.size) % period]
            yield words.format("the index"), {name: flat.reshape(values.shape)}
        for axis, extent in enumerate(values.shape):
            if values.ndim > 1 and extent > period:
                taken = np.take(values, np.arange(extent) % period, axis=axis)
                yield words.format(f"the index of axis {axis}"), {name: taken}


def _partial(inputs: Mapping[str, Array], output: tuple[int, ...]) -> Iterator[Changed]:
    """Reductions over a part of an axis: what is left out counts as 0 there."""
    extents = {
        (axis - values.ndim, values.shape[axis])
        for values in inputs.values()
        for axis in range(values.ndim)
        if values.dtype.kind not in "iub" and values.shape != output
    }
    for axis, extent in sorted(extents, reverse=True):
        index = np.arange(extent)
        for words, kept in _parts(index, extent):
            if kept.all() or not kept.any():
                continue
            changed = {
                name: _masked(values, axis, kept)
                for name, values in inputs.items()
                if values.dtype.kind not in "iub"
                and values.ndim >= -axis
                and values.shape[axis] == extent
            }
            where = "of each row " if axis == -1 and len(output) > 0 and extent > 1 else ""
            yield f"it is as if only elements {where}{words}", changed


def _parts(index: Array, extent: int) -> Iterator[tuple[str, Array]]:
    for threads in THREADS:
        first = index % threads
        yield (
            f"with index % {threads} < {SIMD_WIDTH} counted: are the results of the other "
            "SIMD-groups combined?",
            first < SIMD_WIDTH,
        )
        yield (
            f"with index % {threads} == 0 counted: are the results of the other threads combined?",
            first == 0,
        )
    yield (
        f"with index % {SIMD_WIDTH} == 0 counted: are the results of the other lanes combined?",
        index % SIMD_WIDTH == 0,
    )
    for width in (2, 4, 8, 16, 32, *THREADS):
        whole = extent - extent % width
        yield (
            f"before {whole} counted: the last {extent - whole} are left out, which are no whole "
            f"{width}",
            index < whole,
        )
    for count in (SIMD_WIDTH, *THREADS):
        yield f"before {count} counted: is there a loop over the others?", index < count
    yield f"before {extent - 1} counted: the last one is left out", index < extent - 1
    yield "after the first counted: the first one is left out", index > 0


def _masked(values: Array, axis: int, kept: Array) -> Array:
    shape = [1] * values.ndim
    shape[axis] = kept.size
    return np.where(kept.reshape(shape), values, np.zeros((), values.dtype))


def _misread(name: str, values: Array) -> Iterator[Changed]:
    """One input that is read at another place, or rounded."""
    if values.size > 1:
        first = np.full_like(values, values.reshape(-1)[0])
        yield f"it is as if {name} were {name}[0] everywhere: is its index used?", {name: first}
    for by, words in ((1, "index - 1"), (-1, "index + 1")):
        if values.ndim and values.shape[-1] > 2:
            moved = np.roll(values, by, axis=-1)
            yield f"it is as if {name} were read one place away (at {words})", {name: moved}
            edge = 0 if by == 1 else -1
            moved = moved.copy()
            moved[..., edge] = values[..., edge]
            yield f"it is as if {name} were read one place away (at {words})", {name: moved}
            moved = moved.copy()
            moved[..., edge] = 0
            yield f"it is as if {name} were read one place away (at {words})", {name: moved}
    if values.ndim == 2 and values.shape[0] == values.shape[1]:
        words = f"it is as if {name} were transposed: are row and column exchanged?"
        yield words, {name: np.ascontiguousarray(values.T)}
    if values.ndim == 2 and values.shape[0] != values.shape[1]:
        words = (
            f"it is as if {name} had {values.shape[1]} rows of {values.shape[0]}: is the row's "
            "length taken for the number of rows?"
        )
        yield words, {name: np.ascontiguousarray(values.reshape(values.shape[::-1]).T)}


def _of_no_number(work: Workload, got: Array, expected: Array) -> str:
    """Return what inputs have in common exactly where a result is not finite, but should be."""
    wrong = ~np.isfinite(got) & np.isfinite(expected)
    if not wrong.any():
        return ""
    for name, values in work.inputs.items():
        if values.dtype.kind in "iub" or not values.ndim:
            continue
        plain = np.asarray(values, np.float64)
        if plain.shape == got.shape:
            for words, holds in ((f"{name} is 0", plain == 0), (f"{name} is negative", plain < 0)):
                if (holds == wrong).all() and not holds.all():
                    return f"it is so exactly where {words}"
        rows = plain.shape[:-1]
        if rows in (got.shape, got.shape[:-1], (*got.shape, 1)) and math.prod(rows):
            by_row = wrong.reshape(*rows, -1)
            if (by_row.any(axis=-1) != by_row.all(axis=-1)).any():
                continue
            of_row = by_row.any(axis=-1)
            first = tuple(map(int, np.argwhere(of_row)[0]))
            where = f"row {first[0]}" if len(first) == 1 else f"row {first}"
            alike = plain == plain[..., :1]
            for words, holds in (
                (
                    f"all of a row of {name} is 0, such as {where}; is something divided by 0",
                    plain == 0,
                ),
                (f"a row of {name} has one value only, such as {where}; is its variance 0", alike),
            ):
                if (holds.all(axis=-1) == of_row).all():
                    return f"it is so exactly where {words}?"
    return ""
