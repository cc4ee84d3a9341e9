"""Describe the pattern of wrong elements in a sentence that suggests the likely mistake."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from metalbench.chips import SIMD_WIDTH
from metalbench.errors import TaskError
from metalbench.finding_kinds import Kind
from metalbench.task.workload import Workload
from metalbench.verify.report import Comparison

Array = np.ndarray[Any, Any]

_AXES = {1: ("element",), 2: ("row", "column")}


def describe(
    got: Array, expected: Array, bad: Array, unwritten: Array, inputs: Mapping[str, Array]
) -> str:
    """Return a common property of the wrong elements (`bad`), or an empty string.

    `unwritten` marks elements that still hold the poison from before the run.
    """
    if unwritten.all():
        return "nothing was written"
    what = "were never written" if bad.any() and unwritten[bad].all() else "are wrong"
    whole = _describe_whole(got, inputs)
    if whole or bad.all():
        return whole or _describe_factor(got, expected) or _describe_shift(got, expected)
    if np.isnan(got[bad]).all() and not unwritten[bad].any():
        what = "are not a number"
    return (
        _describe_region(bad, what) or _describe_shift(got, expected) or _describe_remaining(what)
    )


def _describe_whole(got: Array, inputs: Mapping[str, Array]) -> str:
    """Describe a result that is one number, NaN, or a copy of an input."""
    flat = got.reshape(-1)
    if np.isnan(flat).all():
        return "every element is not a number"
    if got.size > 1 and (flat == flat[0]).all():
        return f"every element is {flat[0]}"
    for name, each in inputs.items():
        if each.size == got.size and np.array_equal(each.reshape(-1), flat):
            return f"it is a copy of the input {name}"
    return ""


def _describe_remaining(what: str) -> str:
    return "" if what == "are wrong" else f"they {what}"


def _describe_factor(got: Array, expected: Array) -> str:
    """Describe elements that all have the same wrong factor."""
    y, g = expected.reshape(-1).astype(np.float64), got.reshape(-1).astype(np.float64)
    if not np.isfinite(y).all() or not np.isfinite(g).all():
        return ""
    weight = np.abs(y) > np.abs(y).max() / 100
    if not weight.any():
        return ""
    factors = g[weight] / y[weight]
    factor = float(np.median(factors))
    if np.ptp(factors) > 1e-3 * abs(factor) or abs(factor - 1) < 1e-2:
        return ""
    if np.abs(g - factor * y).max() > 1e-3 * np.abs(factor * y).max():
        return ""
    return f"every element is {factor:.4g} times what it should be"


def _describe_shift(got: Array, expected: Array) -> str:
    """Describe rows that are right but shifted by one."""
    if got.shape[-1] < 3 or not np.isfinite(expected).all():
        return ""
    scale = np.abs(expected).max()
    ahead, behind = (expected[..., 1:], got[..., :-1]), (expected[..., :-1], got[..., 1:])
    for (y, g), words in ((ahead, "left (index + 1)"), (behind, "right (index - 1)")):
        with np.errstate(invalid="ignore", over="ignore"):
            close = np.abs(g.astype(np.float64) - y) <= 1e-3 * scale
        moving = np.abs(np.diff(expected, axis=-1)) > 1e-2 * scale
        if moving.any() and close.all():
            return f"the values are right but lie one place too far to the {words}"
    return ""


def _describe_region(bad: Array, what: str) -> str:
    """Describe wrong elements that fill an end, a band or a regular part of an axis or memory."""
    names = _AXES.get(bad.ndim, tuple(f"index of axis {axis}" for axis in range(bad.ndim)))
    total = int(bad.sum())
    inside = ""
    for axis, name in enumerate(names):
        others = tuple(each for each in range(bad.ndim) if each != axis)
        hit = np.flatnonzero(bad.any(axis=others))
        words = _describe_indices(hit, bad.shape[axis], name)
        if words and total == hit.size * (bad.size // bad.shape[axis]):
            return f"{words} {what}"
        inside = inside or words
    flat = np.flatnonzero(bad)
    words = _describe_indices(flat, bad.size, "element")
    if words and flat[-1] - flat[0] + 1 == flat.size:
        return f"{words} (in memory order) {what}"
    return f"all of them lie in {inside}" if inside else ""


def _describe_indices(hit: Array, extent: int, name: str) -> str:
    """Describe the ascending indices `hit` of an axis; empty if they are all or irregular."""
    several = f"{name}s" if not name.startswith("index") else name.replace("index", "indices", 1)
    steps = np.diff(hit)
    if hit.size == extent or (hit.size > 1 and (steps != steps[0]).any()):
        return ""
    first, last, count = int(hit[0]), int(hit[-1]), hit.size
    if count > 1 and steps[0] > 1:
        step = int(steps[0])
        to = "..." if last + step >= extent else f"..., {last}" if count > 2 else ""
        return f"{several} {first}, {first + step}{f', {to}' if to else ''} of {extent}"
    if last == extent - 1:
        return f"the last {count} of {extent} {several}"
    if first == 0:
        return f"the first {count} of {extent} {several}"
    return f"{several} {first} to {last} of {extent}"


# Describe an output that exceeds its tolerance.


def describe_mismatch(
    compared: Comparison,
    got: Array,
    expected: Array,
    *,
    bad: Array,
    unwritten: Array,
    inputs: Mapping[str, Array],
) -> tuple[Kind, str]:
    """Return kind and message: expected and actual value, extent of the error, a likely cause.

    `bad` marks the elements beyond their bound, `unwritten` those that were not written.
    """
    name = compared.output
    missing = bool(bad.any()) and bool(unwritten[bad].all())
    kind = Kind.NOT_WRITTEN if missing else Kind.WRONG_RESULT
    if not bad.any():
        return kind, (
            f"{name}: expected an rms error of at most {compared.rms_bound:.3g}, "
            f"got {compared.rms_error:.3g}; no single element is far off: precision is lost "
            "everywhere"
        )
    hint = describe(got, expected, bad, unwritten, inputs)
    place = compared.index[0] if len(compared.index) == 1 else compared.index
    came = "nothing" if unwritten[compared.index] else f"{compared.got:.9g}"
    return kind, (
        f"{name}: expected {compared.expected:.9g} at {place}, got {came}; "
        f"{int(bad.sum())} of {bad.size} elements are wrong (allowed error there "
        f"{compared.bound:.3g})" + (f"; {hint}" if hint else "")
    )


# Explain wrong results by changed inputs for which they would be right.
#
# Every hint is tested: the oracle computes the result of, say, an index that wraps at 65536. The
# hint is given only if the kernel has computed that result.

Changed = tuple[str, Mapping[str, Array]]

# Limits for the oracle: elements of inputs, and seconds.
MOST_ELEMENTS, MOST_SECONDS = 1 << 22, 2.0
# An explained result differs from the hypothetical one by at most CLOSE of its root mean square,
# and by at most CLOSER of its distance from the expected result.
CLOSE, CLOSER = 1e-3, 1e-2
THREADS = (64, 128, 256, 512, 1024)
# MSL's types by bits of an index.
INDEX_TYPES = {8: "uchar", 16: "ushort"}


def find_explanation(work: Workload, output: str, got: Array, bad: Array) -> str:
    """Return an explanation of the elements `bad` of `got`, or an empty string."""
    if not bad.any() or not got.size:
        return ""
    values = np.asarray(got, np.float64)
    if not np.isfinite(values[bad]).all():
        return _explain_non_finite(work, values, work.expected[output])
    if sum(each.size for each in work.inputs.values()) > MOST_ELEMENTS:
        return ""
    expected = np.asarray(work.expected[output], np.float64)
    end = perf_counter() + MOST_SECONDS
    for words, changed in _list_mistakes(work, work.output_shapes[output]):
        if perf_counter() > end:
            break
        if _explains(_run_oracle(work, output, changed), values, expected, bad):
            return words
    return ""


def _run_oracle(work: Workload, output: str, changed: Mapping[str, Array]) -> Array | None:
    """Return the oracle's result for changed inputs; None if it refuses them."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(
                replace(work, inputs={**work.inputs, **changed}).expected[output], np.float64
            )
    except TaskError:
        return None


def _explains(would_be: Array | None, got: Array, expected: Array, bad: Array) -> bool:
    """Return whether the hypothetical result is the actual one, and far from the expected one."""
    if would_be is None or not np.isfinite(would_be).all():
        return False
    off = float(np.abs(got - would_be).max())
    size = float(np.sqrt(np.square(would_be).mean()))
    error = float(np.abs(got - expected)[bad].max())
    return off <= CLOSE * size and off <= CLOSER * error


def _list_mistakes(work: Workload, output: tuple[int, ...]) -> Iterator[Changed]:
    """Yield frequent mistakes, each with changed inputs that have the same effect."""
    for name, values in work.inputs.items():
        yield from _wrap_indices(name, values)
    yield from _reduce_partly(work.inputs, output)
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
        yield from _misread_input(name, values)


def _wrap_indices(name: str, values: Array) -> Iterator[Changed]:
    """Yield indices that wrap in a type of 8 or 16 bits."""
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


def _reduce_partly(inputs: Mapping[str, Array], output: tuple[int, ...]) -> Iterator[Changed]:
    """Yield reductions over a part of an axis: omitted elements count as 0."""
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
                name: _mask(values, axis, kept)
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
            f"before {whole} counted: the last {extent - whole} are left out, which are less than "
            f"{width}",
            index < whole,
        )
    for count in (SIMD_WIDTH, *THREADS):
        yield f"before {count} counted: is there a loop over the others?", index < count
    yield f"before {extent - 1} counted: the last one is left out", index < extent - 1
    yield "after the first counted: the first one is left out", index > 0


def _mask(values: Array, axis: int, kept: Array) -> Array:
    shape = [1] * values.ndim
    shape[axis] = kept.size
    return np.where(kept.reshape(shape), values, np.zeros((), values.dtype))


def _misread_input(name: str, values: Array) -> Iterator[Changed]:
    """Yield an input that is read at another index."""
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


def _explain_non_finite(work: Workload, got: Array, expected: Array) -> str:
    """Return a property of the inputs that holds exactly where a result wrongly is not finite."""
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
