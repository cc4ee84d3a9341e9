"""The error rule: the largest distance of a result from the float64 oracle.

With e_ref the error of a good float32 implementation and e that of the candidate, u the unit
roundoff of the run's type: rms(e) <= 2 rms(e_ref) + 2u rms(y), and everywhere
|e| <= 4 max|e_ref| + 8u scale. For rms(e_ref) and max|e_ref| the larger of two counts: the errors
of MLX in float32, and those of a model of the oracle's roundings (`rounding_model`). NaN and
infinities must be where the oracle has them, but that an
infinity stands for whatever rounds to it: near the end of a type's range either may be right.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from metalbench.process import usable_cores
from metalbench.task.dtypes import DTYPES, DType
from metalbench.task.workload import Workload
from metalbench.verify.report import Comparison

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


# Model the rounding errors of a good float32 implementation of an oracle.
#
# The oracle runs once more in float64, and every operation errs by a random amount of the size
# that float32 arithmetic may err by (Monte-Carlo arithmetic: Parker 1997; random instead of
# worst-case rounding errors: Higham and Mary, "A new approach to probabilistic rounding error
# analysis", 2019). The difference from the exact result is a sample of the errors of
# implementations with that many roundings, whatever their order. One fortunate implementation does
# not decide what others may err.
#
# With u = 2^-24, each operation errs by a uniform number in [-1, 1] times:
#
# | operation | error |
# |---|---|
# | + - * | u of the result |
# | / sqrt | 2u of the result: by way of a reciprocal |
# | exp | 2u, and u of the argument: exp2(x log2(e)) rounds the product |
# | log, tanh, erf, ... | 2u, and u absolutely: formulas such as log(1 + x), 1 - 2 / (1 + e^2x) |
# | sin, cos | u of the argument and u absolutely |
# | power | 2u, and u of the logarithm of the result |
# | sums, products of matrices | random errors of sums in runs of `RUN` terms, added pairwise |
# | running sums | the random errors of a sequential sum |
#
# A sum x_1 + ... + x_n with partial sums S_k errs by u sqrt(S_2^2 + ... + S_n^2). For runs of B
# terms the sum of squares is about B^2 S^2 / (3 n) + B / 2 sum x_k^2, and log2(n / B) S^2 for the
# pairwise part. Errors are a function of the exact result: equal values err alike. Conversions,
# selections and maxima are exact.
#
# A sequential sum of many equal terms rounds alike at every step, and errs by up to n u / 2: then
# the error of an actual float32 sum counts, of up to `RUN` terms. Products of matrices do without.

ROUNDOFF = DTYPES["float32"].roundoff
# The longest sequential sum that counts as a good implementation.
RUN = 8192
# Terms are multiplied by STRETCHES numbers from 1 on, for sums of terms with other last bits. The
# largest of their errors exceeds BEYOND_CHANCE amplitudes only if roundings are not random.
STRETCHES, LARGEST_STRETCH, BEYOND_CHANCE = 8, 1e-3, 2.5
# Most products of an einsum whose terms are all examined.
MOST_PRODUCTS = 1 << 23
# A discontinuous oracle can differ by more than rounding. No error counts for more of the scale
# (6e-5, where half precision rounds by up to 5e-4).
ROUNDING_MODEL_MOST_ROUNDOFFS = 1024
# Outputs with few elements are sampled more often, to know their largest error; all several times,
# because errors of a row's sum are common to the row.
LEAST_SAMPLES, FEWEST_DRAWS, MOST_DRAWS, DRAWS_OF_LARGE = 1024, 4, 8, 2
LARGE_INPUT = 1 << 22

_EXACT = {
    *("negative", "positive", "absolute", "fabs", "sign", "copysign", "conjugate", "ldexp"),
    *("maximum", "minimum", "clip", "fmax", "fmin", "floor", "ceil", "rint", "trunc", "nextafter"),
    *("remainder", "mod", "fmod", "heaviside", "modf", "frexp"),
}
_ROUNDED = {"add", "subtract", "multiply", "square"}
_ABSOLUTE = {
    *("log", "log2", "log10", "log1p", "logaddexp", "logaddexp2", "log_expit", "log_ndtr"),
    *("tanh", "sinh", "expm1", "erf", "erfc", "ndtr", "arctan", "arctan2", "arcsin", "arccos"),
    *("arctanh", "arcsinh", "arccosh"),
}


def model_errors(work: Workload) -> dict[str, ErrorNorms]:
    """Return the modelled errors of a good float32 implementation by output.

    Outputs whose oracle loses the model (it returns integers, or copies values out of the arrays
    that it was given) have errors of 0, and so have all outputs if the oracle raises an error for
    inexact arithmetic. Sampling is deterministic for each workload.
    """
    draws, expected = _count_draws(work), work.expected
    rms, largest = dict.fromkeys(expected, 0.0), dict.fromkeys(expected, 0.0)
    for draw in range(draws):
        for name, inexact in evaluate_inexactly(work, draw).items():
            error = _clip_error(inexact, expected[name], work.scale[name])
            if not error.size:
                continue
            rms[name] = max(rms[name], math.sqrt(float(np.square(error).mean())))
            largest[name] = max(largest[name], float(error.max(initial=0.0)))
    return {name: ErrorNorms(largest[name], rms[name]) for name in expected}


def model_float32_errors(
    work: Workload, measured: Mapping[str, ErrorNorms]
) -> dict[str, ErrorNorms]:
    """Return the errors that a good float32 implementation may have, by output.

    These are the larger of the errors `measured` of the MLX reference and of the modelled ones.
    Verification computes the model, which costs one more run of the oracle, only for results that
    fail by the measured errors: the model can only widen what is allowed.
    """
    modelled = model_errors(work)
    return {
        name: ErrorNorms(
            max(each.largest, modelled[name].largest), max(each.rms, modelled[name].rms)
        )
        for name, each in measured.items()
    }


def _count_draws(work: Workload) -> int:
    fewest = min((math.prod(each) for each in work.output_shapes.values()), default=1)
    draws = max(FEWEST_DRAWS, min(MOST_DRAWS, -(-LEAST_SAMPLES // max(1, fewest))))
    is_large = sum(each.size for each in work.inputs.values()) > LARGE_INPUT
    return min(draws, DRAWS_OF_LARGE) if is_large else draws


def evaluate_inexactly(work: Workload, draw: int) -> dict[str, Array]:
    """Return the oracle's float outputs with inexact arithmetic; none if it does not support it."""
    key = f"{work.task.name}/{work.size}/{work.dtype.name}/{work.seed}/{draw}/rounding".encode()
    entropy = int.from_bytes(hashlib.sha256(key).digest(), "little")
    random = np.random.Generator(np.random.SFC64(entropy))
    arguments = {
        name: Inexact.of(each, random)
        if isinstance(each, np.ndarray) and each.dtype.kind == "f"
        else each
        for name, each in work.widen_inputs(np.float64).items()
    }
    try:
        with np.errstate(all="ignore"):
            results = work.task.oracle(**arguments)
    except Exception:  # foreign code that does not support subclasses of arrays
        return {}
    several = results if isinstance(results, tuple) else (results,)
    found = {}
    for (name, shape), each in zip(work.output_shapes.items(), several, strict=False):
        values = np.asarray(each)
        if values.dtype.kind == "f" and values.shape == shape:
            found[name] = values
    return found


def _clip_error(inexact: Array, expected: Array, scale: Array) -> Array:
    """Return |inexact - expected|, at most `MOST_ROUNDOFFS` of the scale."""
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(inexact - expected)
        magnitude = np.abs(scale.astype(np.float64))
    finite = np.isfinite(error) & np.isfinite(magnitude)
    error, magnitude = error[finite], magnitude[finite]
    if not error.size:
        return np.zeros(0)
    root = float(np.sqrt(np.square(magnitude).mean()))
    return np.asarray(
        np.minimum(error, ROUNDING_MODEL_MOST_ROUNDOFFS * ROUNDOFF * np.maximum(magnitude, root))
    )


class Inexact(np.ndarray[Any, Any]):
    """A float64 array whose operations err as float32 arithmetic may."""

    random: np.random.Generator

    @classmethod
    def of(cls, values: Any, random: np.random.Generator) -> Any:
        """Return floating-point `values` as an inexact array; others as they are."""
        array = np.asarray(values)
        if array.dtype.kind not in "fc":
            return values
        inexact = array.view(cls)
        inexact.random = random
        return inexact

    def __array_finalize__(self, source: Any) -> None:
        self.random = getattr(source, "random", None) or np.random.Generator(np.random.SFC64(0))

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any
    ) -> Any:
        plain = tuple(map(_plain, inputs))
        if method == "at":
            return getattr(ufunc, method)(*plain, **options)
        options.pop("subok", None)
        options.pop("casting", None)
        if options.get("where", True) is not True and out is not None:
            ufunc(*plain, out=tuple(map(_plain, out)), **options)
            return out[0] if len(out) == 1 else out
        found = getattr(ufunc, method)(*plain, **options)
        several = found if isinstance(found, tuple) else (found,)
        rounded = tuple(self._round(ufunc, method, plain, each, options) for each in several)
        if out is not None:
            for target, values in zip(out, rounded, strict=True):
                if target is not None:
                    np.copyto(_plain(target), _plain(values), casting="unsafe")
            rounded = tuple(
                values if target is None else target
                for target, values in zip(out, rounded, strict=True)
            )
        return rounded[0] if len(rounded) == 1 else rounded

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        special = _FUNCTIONS.get(getattr(func, "__name__", ""))
        if special is not None:
            return special(self, func, args, kwargs)
        found = super().__array_function__(func, types, args, kwargs)
        if isinstance(found, (tuple, list)):
            return type(found)(map(self._wrap, found)) if type(found) in (tuple, list) else found
        return self._wrap(found)

    def _wrap(self, values: Any) -> Any:
        is_plain = isinstance(values, (np.ndarray, np.floating)) and not isinstance(values, Inexact)
        return Inexact.of(values, self.random) if is_plain else values

    def _perturb(self, values: Any, amplitude: Any) -> Any:
        """Return `values` off by uniform random numbers up to `amplitude` in magnitude."""
        array = np.asarray(values)
        noise = _noise(array, self.random.integers(1 << 63, dtype=np.uint64))
        with np.errstate(all="ignore"):
            moved = array + np.asarray(amplitude) * noise
        if not np.isfinite(moved).all():
            moved = np.where(np.isfinite(moved), moved, array)
        return Inexact.of(moved, self.random)

    def _round(
        self,
        ufunc: np.ufunc,
        method: str,
        inputs: tuple[Any, ...],
        values: Any,
        options: dict[str, Any],
    ) -> Any:
        array = np.asarray(values)
        if array.dtype.kind not in "fc":
            return values
        with np.errstate(all="ignore"):
            if method in {"reduce", "accumulate"}:
                amplitude = _of_reduction(ufunc, method, inputs[0], array, options)
            else:
                amplitude = _of_operation(ufunc.__name__, inputs, array)
        if amplitude is None:
            return Inexact.of(array, self.random)
        return self._perturb(array, amplitude)


def _noise(values: Array, key: Any) -> Array:
    """Return uniform numbers in [-1, 1): of equal values equal ones, as roundings are."""
    parts = (values.real, values.imag) if values.dtype.kind == "c" else (values,)
    bits = np.full(values.shape, key)
    for part in parts:
        bits ^= np.ascontiguousarray(part, np.float64).view(np.uint64).reshape(values.shape)
        for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):  # splitmix64
            bits ^= bits >> np.uint64(30)
            bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(31)
    return np.asarray((bits >> np.uint64(11)) * 2.0**-52 - 1)


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Inexact) else value


def _of_operation(name: str, inputs: tuple[Any, ...], values: Array) -> Any:
    """Return the amplitude of the error of one operation; None if it is exact."""
    size = ROUNDOFF * np.abs(values)
    amplitude: Any = 2 * size
    if name in _EXACT:
        amplitude = None
    elif name in _ROUNDED:
        amplitude = size
    elif name in ("matmul", "vecdot", "matvec", "vecmat"):
        a, b = inputs
        multiply: Callable[..., Any] = getattr(np, name)
        amplitude = _of_sum(values, multiply(np.square(a), np.square(b)), np.shape(a)[-1])
    elif name in ("exp", "exp2", "expit"):
        argument = np.abs(inputs[0]) * (math.log(2) if name == "exp2" else 1.0)
        amplitude = size * (2 + np.where(np.isfinite(argument), argument, 0))
    elif name in ("power", "float_power"):
        logarithm = np.abs(np.log(np.abs(values)))
        amplitude = size * (2 + np.where(np.isfinite(logarithm), logarithm, 0))
    elif name in ("sin", "cos", "tan"):
        amplitude = 2 * size + ROUNDOFF * (1 + np.abs(inputs[0]))
    elif name in _ABSOLUTE:
        amplitude = 2 * size + ROUNDOFF
    return amplitude


def _of_reduction(
    ufunc: np.ufunc, method: str, terms: Any, values: Array, options: dict[str, Any]
) -> Any:
    name, array = ufunc.__name__, np.asarray(terms)
    if name in _EXACT:
        return None
    axis = options.get("axis", 0)
    if method == "accumulate":
        along = np.arange(1, array.shape[axis] + 1)
        shape = [1] * array.ndim
        shape[axis] = -1
        if name == "add":
            return ROUNDOFF * np.sqrt(np.cumsum(np.square(np.abs(values)), axis=axis))
        return (
            2 * ROUNDOFF * np.sqrt(along.reshape(shape)) * np.maximum(np.abs(values), _unit(name))
        )
    count = array.size // max(1, values.size)
    if name != "add" or options.get("where", True) is not True:
        return 2 * ROUNDOFF * math.sqrt(count) * np.maximum(np.abs(values), _unit(name))
    squares = np.add.reduce(
        np.square(np.abs(array)), axis=axis, keepdims=options.get("keepdims", False)
    )
    return _with_systematic_error(_of_sum(values, squares, count), array, values, axis)


def _with_systematic_error(amplitude: Any, terms: Array, values: Array, axis: Any) -> Any:
    """Return the error of sums over `axis`, larger where a sequential float32 sum errs by more.

    How equal terms round depends on their last bits: the largest of several errors counts.
    """
    if terms.dtype.kind != "f" or not 1 < terms.size // max(1, values.size) <= RUN:
        return amplitude
    several = range(terms.ndim) if axis is None else np.atleast_1d(axis)
    axes = sorted(int(each) % terms.ndim for each in several)
    rows = np.moveaxis(terms, axes, range(len(axes)))
    rows = rows.reshape(-1, 1, math.prod(rows.shape[len(axes) :]))
    factors = np.linspace(1, 1 + LARGEST_STRETCH, STRETCHES)[:, None]
    total = np.zeros((STRETCHES, rows.shape[2]), np.float32)
    exact = np.zeros((STRETCHES, rows.shape[2]))
    for row in rows:
        stretched = (row * factors).astype(np.float32)
        total += stretched
        exact += stretched
    systematic = np.abs(total - exact).max(axis=0).reshape(values.shape)
    return np.hypot(amplitude, np.where(systematic > BEYOND_CHANCE * amplitude, systematic, 0))


def _unit(name: str) -> float:
    """Return 1 for reductions that err absolutely, as logarithms do."""
    return 1.0 if name in _ABSOLUTE else 0.0


def _of_sum(values: Array, squares: Any, count: int) -> Any:
    """Return the error of sums of `count` terms, whose `squares` are added up too."""
    if count <= 1:
        return ROUNDOFF * np.abs(values)
    run = min(count, RUN)
    of_sum = run * run / (3 * count) + math.log2(count / run) + 1
    return ROUNDOFF * np.sqrt(of_sum * np.square(np.abs(values)) + run / 2 * np.abs(squares))


def _bilinear(array: Inexact, func: Any, args: Any, kwargs: Any) -> Any:
    """Return a sum of products, such as `tensordot`, with its error."""
    plain = [_plain(each) for each in args]
    values = func(*plain, **kwargs)
    squares = func(*(np.square(np.abs(each)) for each in plain[:2]), *plain[2:], **kwargs)
    count = max(1, round(plain[0].size * plain[1].size / max(1, np.size(values))) ** 0.5)
    return array._perturb(values, _of_sum(np.asarray(values), squares, int(count)))


def _einsum(array: Inexact, func: Any, args: Any, kwargs: Any) -> Any:
    subscripts, *operands = [_plain(each) for each in args]
    kwargs = {name: each for name, each in kwargs.items() if name != "out"}
    if not isinstance(subscripts, str):
        return array._wrap(func(subscripts, *operands, **kwargs))
    values = func(subscripts, *operands, **kwargs)
    squares = func(subscripts, *(np.square(np.abs(each)) for each in operands), **kwargs)
    given, arrow, kept = subscripts.replace(" ", "").partition("->")
    if not arrow:
        named_once = (each for each in sorted(set(given) - set(",.")) if given.count(each) == 1)
        kept = "".join(named_once)
    extents: dict[str, int] = {}
    for labels, operand in zip(given.split(","), operands, strict=True):
        named = labels.replace("...", "")
        at_end = labels.startswith("...")
        shape = np.shape(operand)
        taken = shape[len(shape) - len(named) :] if at_end else shape[: len(named)]
        extents.update(zip(named, taken, strict=True))
    count = math.prod(extent for label, extent in extents.items() if label not in kept)
    if count <= 1 and len(operands) == 1:
        return Inexact.of(values, array.random)
    amplitude = _of_sum(np.asarray(values), squares, count)
    if count * np.size(values) <= MOST_PRODUCTS and "..." not in given:
        summed = "".join(label for label in extents if label not in kept)
        terms = func(f"{given}->{kept}{summed}", *operands)
        axes = tuple(range(len(kept), terms.ndim))
        amplitude = _with_systematic_error(amplitude, terms, np.asarray(values), axes)
    return array._perturb(values, amplitude)


def _norm(array: Inexact, func: Any, args: Any, kwargs: Any) -> Any:
    values, order = args[0], kwargs.get("ord", args[1] if len(args) > 1 else None)
    if order not in (None, 2, "fro") or len(args) > 2:
        return array._wrap(func(*map(_plain, args), **kwargs))
    axis, keep = kwargs.get("axis"), kwargs.get("keepdims", False)
    return np.sqrt(np.add.reduce(np.square(np.abs(values)), axis=axis, keepdims=keep))


def _fourier(array: Inexact, func: Any, args: Any, kwargs: Any) -> Any:
    """Return a Fourier transform; errors of its log2(n) steps are relative to its norm."""
    values = np.asarray(func(*map(_plain, args), **kwargs))
    root = np.sqrt(np.square(np.abs(values)).mean(axis=-1, keepdims=True))
    steps = math.log2(max(2, np.shape(args[0])[-1]))
    return array._perturb(values, 2 * ROUNDOFF * math.sqrt(steps) * root)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "einsum": _einsum,
    "norm": _norm,
    **dict.fromkeys(("dot", "vdot", "inner", "tensordot"), _bilinear),
    **dict.fromkeys(("fft", "ifft", "rfft", "irfft", "fft2", "ifft2"), _fourier),
}
