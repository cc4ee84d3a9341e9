"""Convert inputs to the types of a kernel's arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.custom_kernel.arrays import as_numpy, is_mlx
from metalbench.errors import DispatchError, suggestion

Array = np.ndarray[Any, Any]
# What NumPy makes of Python's own numbers.
_WIDE = ("float64", "int64", "uint64")


def dtype_of(argument: _core.Argument) -> np.dtype[Any] | None:
    """Return the declared dtype of a buffer; None for structs of the kernel."""
    if argument.element == "bfloat16":
        import ml_dtypes

        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    return np.dtype(argument.element) if argument.element is not None else None


def buffers_of(pipeline: _core.Pipeline) -> dict[str, _core.Argument]:
    """Return the buffers that a kernel takes, by name."""
    return {each.name: each for each in pipeline.arguments if each.kind == "buffer"}


def read_inputs(pipeline: _core.Pipeline, inputs: Mapping[str, object]) -> dict[str, Any]:
    """Return the inputs by name: arrays in the types that the kernel declares, scalars as they are.

    NumPy's own float64 and 64-bit integers become the declared type of their kind. Raises
    DispatchError for a name or a type that the kernel does not take.
    """
    known = {each.name: each for each in pipeline.arguments if each.kind != "threadgroup"}
    for name in inputs:
        if name not in known:
            raise DispatchError(
                f"[{pipeline.name}] inputs: the kernel takes no {name!r}; {suggestion(name, known)}"
            )
    return {
        name: _read(f"[{pipeline.name}] inputs: {name}", value, known[name])
        for name, value in inputs.items()
    }


def _read(where: str, value: object, argument: _core.Argument) -> Any:
    if argument.kind != "buffer":
        return value
    if isinstance(value, (list, tuple)):
        value = np.asarray(value)
    if is_mlx(value):
        value = as_numpy(value, where)
    if not isinstance(value, np.ndarray):
        return value
    wanted = dtype_of(argument)
    if wanted is None or value.dtype == wanted:
        return np.ascontiguousarray(value)
    return np.ascontiguousarray(_convert(where, value, wanted, argument.type))


def _convert(where: str, array: Array, wanted: np.dtype[Any], written: str) -> Array:
    numbers = array.dtype.name in _WIDE
    floats = array.dtype.kind == "f" and _is_float(wanted)
    integers = array.dtype.kind in "iu" and wanted.kind in "iu"
    if numbers and (floats or integers):
        with np.errstate(over="ignore"):
            converted = array.astype(wanted)
        if floats or np.array_equal(converted, array):
            return converted
        raise DispatchError(f"{where}: expected integers that fit {written}, got {array.dtype}")
    raise DispatchError(f"{where}: expected {wanted} ({written}), got {array.dtype}")


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype.name == "bfloat16"
