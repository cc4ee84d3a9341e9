"""The error rule: how far a result may be from the float64 oracle.

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

# Below this many elements the reference's errors are too few to be a yardstick on average.
FEWEST_FOR_RMS = 32
# The root mean square of n errors is itself known to one part in sqrt(2 n), the ratio of two of
# them to one in sqrt(n); so many of these deviations are chance.
RMS_DEVIATIONS = 3
# A reference that errs by more than this many roundoffs of the scale (MLX sums eight million
# squares one after the other on a CPU: 1 % off) does not widen the bound any further.
MOST_ROUNDOFFS = 32
# Elements of a piece: few enough for the cache, enough for NumPy to do most of the work.
_CHUNK = 1 << 15
# What one thread compares at a time, of arrays of more.
_PART = 1 << 20


@dataclass(frozen=True)
class ErrorNorms:
    """The errors of the reference: the largest, and their root mean square."""

    largest: float
    rms: float


@dataclass(frozen=True)
class OutputTolerance:
    """The constants of the rule for one output: bound = `fixed` + `relative` * scale."""

    fixed: float
    relative: float
    rms: float

    def bound(self, scale: Array) -> Array:
        """The largest error allowed to each element of `scale`."""
        bound: Array = self.relative * np.abs(scale)
        if not np.isfinite(bound.sum()):  # where the oracle is not finite no error is allowed
            bound[~np.isfinite(bound)] = 0
        bound += self.fixed
        return bound


def compare(
    output: str, got: Array, expected: Array, *, tolerance: OutputTolerance, scale: Array
) -> Comparison:
    """Judge `got` against `expected` (of one shape); integers must be equal."""
    if not np.issubdtype(expected.dtype, np.floating):
        return _compare_integers(output, got, expected)
    overflows = _overflows(got)
    squares, worst, where = 0.0, -1.0, 0
    at = (0.0, 0.0)

    def examined(start: int, pieces: list[Array]) -> tuple[float, float, int, tuple[float, float]]:
        error = absolute_errors(pieces[0], pieces[1], overflows)
        bound = tolerance.bound(pieces[2])
        ratio = error / bound
        place = int(np.argmax(ratio))
        values = float(error[place]), float(bound[place])
        return _sum_of_squares(error), float(ratio[place]), start + place, values

    for square, ratio, place, values in _of_chunks(examined, got, expected, scale):
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
    """How far the float32 `reference` is from `expected`, as far as that counts."""
    of_error = _Moments.of(
        lambda pieces: absolute_errors(pieces[0], pieces[1]), reference, expected
    )
    of_scale = _Moments.of(_itself, scale)
    cap, count = MOST_ROUNDOFFS * DTYPES["float32"].roundoff, expected.size
    return ErrorNorms(
        largest=min(of_error.largest, cap * of_scale.largest),
        rms=min(of_error.rms(count), cap * of_scale.rms(count)),
    )


def largest_counted_norms(scale: Array) -> ErrorNorms:
    """The errors of a reference that would widen the bound the furthest; costs no reference."""
    of_scale = _Moments.of(_itself, scale)
    cap = MOST_ROUNDOFFS * DTYPES["float32"].roundoff
    return ErrorNorms(cap * of_scale.largest, cap * of_scale.rms(scale.size))


def derive_tolerance(expected: Array, reference: ErrorNorms, dtype: DType) -> OutputTolerance:
    """What the rule allows for `expected` in a run whose element type is `dtype`."""
    rms = math.inf
    if expected.size >= FEWEST_FOR_RMS:
        of_value = _Moments.of(_itself, expected).rms(expected.size)
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
        """Those of what `values` makes of the arrays, piece by piece."""
        found = _of_chunks(lambda _, pieces: cls._of_piece(values(pieces)), *arrays)
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
    """Which elements are beyond their bound: a boolean array."""
    if not np.issubdtype(expected.dtype, np.floating):
        return np.asarray(got != expected)
    overflows = _overflows(got)
    result = np.empty(expected.size, bool)
    for start, (g, y, s) in _chunks((got, expected, scale), 0, expected.size):
        result[start : start + g.size] = absolute_errors(g, y, overflows) > tolerance.bound(s)
    return result.reshape(expected.shape)


def absolute_errors(got: Array, expected: Array, overflows: float = math.inf) -> Array:
    """|got - expected|; 0 where both are the same infinity or NaN, infinite where only one is.

    But where `got` alone is an infinity, it is the nearest number that rounds to it: `overflows`,
    of the type that it was stored as, or one beyond.
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
    """From where on the type of `got` is infinite."""
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
    """By this thread alone: BLAS would start others for a dot product of that length."""
    return float(np.einsum("i,i->", values, values))


def _itself(pieces: list[Array]) -> Array:
    return pieces[0]


def _of_chunks(work: Callable[[int, list[Array]], Made], *arrays: Array) -> Iterator[Made]:
    """What `work` makes of each piece, in order; of large arrays several parts at a time."""
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
    """Equal pieces of the flattened arrays as float64, small enough to stay in the cache."""
    flat = [each.reshape(-1) for each in arrays]
    for start in range(begin, end, _CHUNK):
        stop = min(start + _CHUNK, end)
        with np.errstate(invalid="ignore"):  # a kernel may have stored signalling NaNs
            pieces = [each[start:stop].astype(np.float64, copy=False) for each in flat]
        yield start, pieces
