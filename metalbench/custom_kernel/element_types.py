"""The element types of MLX: their names in numpy and mlx, and in the kernels that it generates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metalbench.errors import DispatchError


@dataclass(frozen=True)
class ElementType:
    """One element type; `name` is numpy's and mlx's, `msl` what MLX writes into a signature."""

    name: str
    msl: str

    @property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype; that of bfloat16 comes from ml_dtypes."""
        if self.name == "bfloat16":
            import ml_dtypes

            found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
            return found
        return np.dtype(self.name)


_INTEGERS = [f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")]
TYPES = {
    each.name: each
    for each in (
        ElementType("bool", "bool"),
        *(ElementType(name, f"{name}_t") for name in _INTEGERS),
        ElementType("float16", "float16_t"),
        ElementType("bfloat16", "bfloat16_t"),
        ElementType("float32", "float"),
        ElementType("complex64", "complex64_t"),
    )
}
_NARROWER = {"float64": "float32", "complex128": "complex64"}


def is_mlx_dtype(value: object) -> bool:
    """Return whether `value` is an mlx.core.Dtype; does not import MLX."""
    return type(value).__name__ == "Dtype" and type(value).__module__.startswith("mlx.")


def mlx_dtype(type_: ElementType) -> Any:
    """Return the mlx.core.Dtype of an element type."""
    import mlx.core as mx

    return mx.bool_ if type_.name == "bool" else getattr(mx, type_.name)


def is_dtype(value: object) -> bool:
    """Return whether `value` is an mlx or numpy dtype, or a scalar type of numpy."""
    scalar = isinstance(value, type) and issubclass(value, np.generic)
    return scalar or isinstance(value, np.dtype) or is_mlx_dtype(value)


def element_type(value: object, where: str) -> ElementType:
    """Return the type that an mlx or numpy dtype or its name ("float32") stands for.

    Raise DispatchError beginning with `where` when kernels have no such type.
    """
    name = _name(value)
    if name in TYPES:
        return TYPES[name]
    if name in _NARROWER:
        raise DispatchError(f"{where}: Metal has no {name}; use {_NARROWER[name]}")
    got = name or repr(value)
    raise DispatchError(f"{where}: expected one of {', '.join(TYPES)}, got {got}")


def narrow(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array in a type that Metal has and in native byte order, as MLX converts one."""
    wanted = np.dtype(_NARROWER.get(array.dtype.name, array.dtype)).newbyteorder("=")
    return array if array.dtype == wanted else array.astype(wanted)


def _name(value: object) -> str:
    if is_mlx_dtype(value):
        return str(value).rpartition(".")[2]
    if isinstance(value, str) and value in TYPES:
        return value
    if value is None:  # which numpy takes for float64
        return ""
    try:
        return np.dtype(value).name  # type: ignore[call-overload, no-any-return]
    except TypeError:
        return ""
