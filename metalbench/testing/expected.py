"""Expected outputs of a kernel and their tolerances."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metalbench.custom_kernel.arrays import as_numpy, is_mlx
from metalbench.errors import DeclarationError
from metalbench.task.dtypes import DTYPES, DType
from metalbench.verify import error_rule
from metalbench.verify.error_rule import ErrorNorms, OutputTolerance

Array = np.ndarray[Any, Any]
# A reference in float32 is taken to be this many roundoffs of its largest number off, or more where
# it is seen to be: sums in another order differ by as much.
ROUNDOFFS = 8
# Below the least difference of two float32 numbers: only what is equal is within.
_EXACT = 2.0**-150


@dataclass(frozen=True)
class Tolerance:
    """|got - expected| <= atol + rtol |expected| everywhere; None for both is the error rule."""

    rtol: float | None = None
    atol: float | None = None


@dataclass(frozen=True)
class Expected:
    """One output: float64 or integers, and, of a function, what it makes of float32 inputs."""

    values: Array
    single: Array | None = None

    def round_to(self, dtype: np.dtype[Any]) -> Expected:
        """Return the values that fit `dtype`: values beyond its range are infinite."""
        if not _is_float(dtype):
            return replace(self, values=_integers(self.values, dtype))
        wide = self.values.astype(np.float64)
        with np.errstate(over="ignore"):
            stored = wide.astype(dtype).astype(np.float64)
        return replace(self, values=np.where(np.isinf(stored), stored, wide))

    def allowance(self, dtype: np.dtype[Any], tolerance: Tolerance) -> OutputTolerance:
        """Return the allowed error of an output of this dtype."""
        if tolerance.rtol is not None or tolerance.atol is not None:
            fixed = max(tolerance.atol or 0.0, _EXACT)
            return OutputTolerance(fixed, tolerance.rtol or 0.0, math.inf)
        kind = DTYPES.get(dtype.name, DType(dtype.name, "", dtype.itemsize))
        return error_rule.derive_tolerance(self.values, self._yardstick(), kind)

    def _yardstick(self) -> ErrorNorms:
        least = ROUNDOFFS * DTYPES["float32"].roundoff
        finite = np.abs(self.values[np.isfinite(self.values)].astype(np.float64))
        if not finite.size:
            return ErrorNorms(0.0, 0.0)
        seen = ErrorNorms(0.0, 0.0)
        if self.single is not None:
            seen = error_rule.measure_error_norms(self.values, self.single, self.values)
        rms = float(np.sqrt(np.square(finite).mean()))
        return ErrorNorms(max(seen.largest, least * finite.max()), max(seen.rms, least * rms))


def compute_expected(
    expected: object, inputs: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Expected]:
    """Return the expected outputs by name.

    `expected` is {name: array}, an array or a tuple of them in the order of `names`, or a function
    that returns one of these. A function gets the inputs that its parameters name; if it names
    none, all arrays in order. It is called with float64, and once more with float32.

    Raise DeclarationError if there are not as many results as outputs.
    """
    if not callable(expected):
        return {name: Expected(each) for name, each in _name_outputs(expected, names).items()}
    exact = _name_outputs(_call(expected, inputs, np.float64), names)
    single = _name_outputs(_call(expected, inputs, np.float32), names)
    return {name: Expected(each, single[name]) for name, each in exact.items()}


def _name_outputs(results: object, names: Sequence[str]) -> dict[str, Array]:
    if isinstance(results, Mapping):
        return {name: _array(each, name) for name, each in results.items()}
    several = results if isinstance(results, (tuple, list)) else (results,)
    if isinstance(results, list) and len(names) == 1 and not _holds_arrays(results):
        several = (results,)
    if len(several) != len(names):
        listed = ", ".join(names) or "none"
        raise DeclarationError(
            f"expected: expected an array for each output ({listed}), got {len(several)}; "
            "give them by name: {'y': ...}"
        )
    return {name: _array(each, name) for name, each in zip(names, several, strict=True)}


def _holds_arrays(several: Sequence[object]) -> bool:
    return any(isinstance(each, np.ndarray) or is_mlx(each) for each in several)


def _array(value: object, name: str) -> Array:
    array = as_numpy(value, f"expected: {name}") if is_mlx(value) else np.asarray(value)
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        raise DeclarationError(f"expected: {name}: expected real numbers, got {array.dtype}")
    return np.ascontiguousarray(array)


def _call(
    function: Callable[..., Any], inputs: Mapping[str, Any], kind: type[np.floating[Any]]
) -> Any:
    wide = {name: _widen(value, kind) for name, value in inputs.items()}
    wanted = _select_named(function, wide)
    if wanted:
        return function(**wanted)
    return function(*(each for each in wide.values() if isinstance(each, np.ndarray)))


def _select_named(function: Callable[..., Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs that the function's parameters name."""
    if isinstance(function, np.ufunc):  # its parameters, such as `out`, are not inputs
        return {}
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some functions in C have none
        return {}
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):
        return dict(inputs)
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = {each.name for each in parameters if each.kind in by_name}
    return {name: value for name, value in inputs.items() if name in names}


def _widen(value: Any, kind: type[np.floating[Any]]) -> Any:
    if is_mlx(value):
        value = as_numpy(value, "inputs")
    if isinstance(value, np.ndarray) and _is_float(value.dtype):
        return value.astype(kind)
    return value


def _integers(values: Array, dtype: np.dtype[Any]) -> Array:
    if _is_float(values.dtype):
        whole = values.astype(dtype)
        if not np.array_equal(whole, values):
            raise DeclarationError(
                f"expected: expected integers as the kernel's {dtype}, got floats"
            )
        return whole
    return values


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype.name == "bfloat16"
