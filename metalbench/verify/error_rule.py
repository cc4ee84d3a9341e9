"""The error rule: the largest distance of a result from the float64 oracle.

With e_ref the error of a good float32 implementation and e that of the candidate, u the unit
roundoff of the run's type: rms(e) <= 2 rms(e_ref) + 2u rms(y), and everywhere
|e| <= 4 max|e_ref| + 8u scale. For rms(e_ref) and max|e_ref| the larger of two counts: the errors
of MLX in float32, and those of a model of the oracle's roundings (`rounding_model`). NaN and
infinities must be where the oracle has them, but that an
infinity stands for whatever rounds to it: near the end of a type's range either may be right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from metalbench.cores import usable_cores
from metalbench.task.dtypes import DTYPES, DType
from metalbench.verify.verdict import Comparison

Array = np.ndarray[Any, Any]
Made = TypeVar("Made")

# With fewer elements the root mean square of the reference's errors is too uncertain.
FEWEST_FOR_RMS = 32
# The relative standard deviation of the root mean square of n errors is 1 / sqrt(2 n), and that of
# the ratio of two is 1 / sqrt(n). This number of deviations counts as chance.
RMS_DEVIATIONS = 3
# Errors of the reference above this number of roundoffs of the scale do not widen the bound. On a
# CPU, MLX sums eight million squares sequentially, which is 1 % off.
MOST_ROUNDOFFS = 32
# Elements of a piece: few enough for the cache, enough to amortise NumPy's calls.
_CHUNK = 1 << 15
# Elements that one thread compares at a time, in larger arrays.
_PART = 1 << 20


@dataclass(frozen=True)
class ErrorNorms:
    """Norms of the reference's errors: the largest, and the root mean square."""

    largest: float
    rms: float


@dataclass(frozen=True)
class OutputTolerance:
    """The tolerance of one output: an error may be `fixed` + `relative` * scale, and `rms`."""

    fixed: float
    relative: float
    rms: float

    def compute_bounds(self, scale: Array) -> Array:
        """Return the largest allowed error of each element of `scale`."""
        bound: Array = self.relative * np.abs(scale)
        if not np.isfinite(bound.sum()):  # no error is allowed where the oracle is not finite
            bound[~np.isfinite(bound)] = 0
        bound += self.fixed
        return bound


def compare(
    output: str, got: Array, expected: Array, *, tolerance: OutputTolerance, scale: Array
) -> Comparison:
    """Compare `got` with `expected`, of the same shape; integers must be equal."""
    if not np.issubdtype(expected.dtype, np.floating):
        return _compare_integers(output, got, expected)
    overflows = _overflows(got)
    squares, worst, where = 0.0, -1.0, 0
    at = (0.0, 0.0)

    def compare_piece(
        start: int, pieces: list[Array]
    ) -> tuple[float, float, int, tuple[float, float]]:
        error = absolute_errors(pieces[0], pieces[1], overflows)
        bound = tolerance.compute_bounds(pieces[2])
        ratio = error / bound
        place = int(np.argmax(ratio))
        values = float(error[place]), float(bound[place])
        return _sum_of_squares(error), float(ratio[place]), start + place, values

    for square, ratio, place, values in _map_chunks(compare_piece, got, expected, scale):
        squares += square
        if ratio > worst:
            worst, where, at = ratio, place, values
    index = tuple(int(each) for each in np.unravel_index(where, expected.shape))
    return Comparison(
        output=output,
        error=at[0],
        bound=at[1],
        index=index,
        expected=float(expected[index]),
        got=float(got[index]),
        rms_error=math.sqrt(squares / expected.size),
        rms_bound=tolerance.rms,
    )


def measure_error_norms(expected: Array, reference: Array, scale: Array) -> ErrorNorms:
    """Return the norms of the float32 reference's errors, capped at `MOST_ROUNDOFFS`."""
    of_error = _Moments.of(
        lambda pieces: absolute_errors(pieces[0], pieces[1]), reference, expected
    )
    of_scale = _Moments.of(_first, scale)
    cap, count = MOST_ROUNDOFFS * DTYPES["float32"].roundoff, expected.size
    return ErrorNorms(
        largest=min(of_error.largest, cap * of_scale.largest),
        rms=min(of_error.rms(count), cap * of_scale.rms(count)),
    )


def largest_counted_norms(scale: Array) -> ErrorNorms:
    """Return the cap of `measure_error_norms`, which needs no run of the reference."""
    of_scale = _Moments.of(_first, scale)
    cap = MOST_ROUNDOFFS * DTYPES["float32"].roundoff
    return ErrorNorms(cap * of_scale.largest, cap * of_scale.rms(scale.size))


def derive_tolerance(expected: Array, reference: ErrorNorms, dtype: DType) -> OutputTolerance:
    """Return the tolerance of an output, from the reference's errors and the element type."""
    rms = math.inf
    if expected.size >= FEWEST_FOR_RMS:
        of_value = _Moments.of(_first, expected).rms(expected.size)
        rms = 2 * reference.rms + 2 * dtype.roundoff * of_value + dtype.least
        rms *= 1 + RMS_DEVIATIONS / math.sqrt(expected.size)
    return OutputTolerance(4 * reference.largest + dtype.least, 8 * dtype.roundoff, rms)


@dataclass
class _Moments:
    """The largest magnitude and the sum of squares of finite numbers."""

    largest: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, values: Callable[[list[Array]], Array], *arrays: Array) -> _Moments:
        """Compute the moments of a function of arrays, piece by piece."""
        found = _map_chunks(lambda _, pieces: cls._of_piece(values(pieces)), *arrays)
        several = list(found)
        largest = max((each.largest for each in several), default=0.0)
        return cls(largest, sum(each.squares for each in several))

    @classmethod
    def _of_piece(cls, values: Array) -> _Moments:
        squares = _sum_of_squares(values)
        if not math.isfinite(squares):
            values = values[np.isfinite(values)]
            squares = _sum_of_squares(values)
        if not values.size:
            return cls()
        return cls(max(0.0, float(values.max()), -float(values.min())), squares)

    def rms(self, count: int) -> float:
        return math.sqrt(self.squares / count)


def find_wrong(got: Array, expected: Array, *, tolerance: OutputTolerance, scale: Array) -> Array:
    """Return a boolean array of the elements that are beyond their bound."""
    if not np.issubdtype(expected.dtype, np.floating):
        return np.asarray(got != expected)
    overflows = _overflows(got)
    result = np.empty(expected.size, bool)
    for start, (g, y, s) in _chunks((got, expected, scale), 0, expected.size):
        result[start : start + g.size] = absolute_errors(
            g, y, overflows
        ) > tolerance.compute_bounds(s)
    return result.reshape(expected.shape)


def absolute_errors(got: Array, expected: Array, overflows: float = math.inf) -> Array:
    """Return |got - expected|: 0 for equal infinities or NaNs, infinite if only one is not finite.

    If only `got` is infinite, it counts as the nearest number that rounds to infinity: at least
    `overflows`, of the type in which it was stored.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        result: Array = np.subtract(got, expected)
        np.abs(result, out=result)
    if np.isfinite(result.sum()):
        return result
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    result[~(np.isfinite(got) & np.isfinite(expected))] = np.inf
    result[same] = 0
    stored = np.isinf(got) & np.isfinite(expected)
    result[stored] = np.maximum(0, overflows - np.sign(got[stored]) * expected[stored])
    return result


def _overflows(got: Array) -> float:
    """Return the least magnitude that rounds to infinity in the type of `got`."""
    kind = DTYPES.get(got.dtype.name)
    return math.inf if kind is None else kind.overflows


def _compare_integers(output: str, got: Array, expected: Array) -> Comparison:
    differs = np.flatnonzero(got.reshape(-1) != expected.reshape(-1))
    where = int(differs[0]) if differs.size else 0
    index = tuple(int(each) for each in np.unravel_index(where, expected.shape))
    values = float(expected[index]), float(got[index])
    return Comparison(
        output=output,
        error=abs(values[1] - values[0]),
        bound=0.0,
        index=index,
        expected=values[0],
        got=values[1],
        rms_error=0.0,
        rms_bound=math.inf,
    )


def _sum_of_squares(values: Array) -> float:
    """Sum squares in this thread; BLAS would start threads for a dot product of that length."""
    return float(np.einsum("i,i->", values, values))


def _first(pieces: list[Array]) -> Array:
    return pieces[0]


def _map_chunks(work: Callable[[int, list[Array]], Made], *arrays: Array) -> Iterator[Made]:
    """Yield `work` of each piece in order; large arrays are divided among threads."""
    size = arrays[0].size
    if size <= _PART:
        yield from (work(*each) for each in _chunks(arrays, 0, size))
        return

    def of_part(start: int) -> list[Made]:
        return [work(*each) for each in _chunks(arrays, start, min(size, start + _PART))]

    with ThreadPoolExecutor(usable_cores(), thread_name_prefix="compare") as threads:
        for several in threads.map(of_part, range(0, size, _PART)):
            yield from several


def _chunks(arrays: Sequence[Array], begin: int, end: int) -> Iterator[tuple[int, list[Array]]]:
    """Yield equal pieces of the flattened arrays as float64, small enough for the cache."""
    flat = [each.reshape(-1) for each in arrays]
    for start in range(begin, end, _CHUNK):
        stop = min(start + _CHUNK, end)
        with np.errstate(invalid="ignore"):  # a kernel may have stored signalling NaNs
            pieces = [each[start:stop].astype(np.float64, copy=False) for each in flat]
        yield start, pieces
