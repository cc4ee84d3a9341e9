"""The element types of tasks: their names in numpy and in MSL, and how coarsely they round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from metalbench.errors import DeclarationError, suggestion


@dataclass(frozen=True)
class DType:
    """One element type.

    `roundoff` is half the distance from 1 to the next number (0 for integers); `least` the
    magnitude below which the type, or a GPU that flushes subnormals, cannot resolve; `overflows`
    the least that rounds to infinity.
    """

    name: str
    msl: str
    nbytes: int
    roundoff: float = 0.0
    least: float = 0.0
    overflows: float = math.inf

    @property
    def is_float(self) -> bool:
        """Whether values are rounded (float32, float16, bfloat16)."""
        return self.roundoff > 0

    @property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype; that of bfloat16 comes from ml_dtypes."""
        if self.name == "bfloat16":
            import ml_dtypes

            found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
            return found
        return np.dtype(self.name)


_ALL = (
    DType("float32", "float", 4, 2.0**-24, 2.0**-126, (2 - 2.0**-24) * 2.0**127),
    DType("float16", "half", 2, 2.0**-11, 2.0**-24, 65520.0),
    DType("bfloat16", "bfloat", 2, 2.0**-8, 2.0**-126, (2 - 2.0**-8) * 2.0**127),
    DType("uint64", "ulong", 8),
    DType("int64", "long", 8),
    DType("uint32", "uint", 4),
    DType("int32", "int", 4),
    DType("uint16", "ushort", 2),
    DType("int16", "short", 2),
    DType("uint8", "uchar", 1),
    DType("int8", "char", 1),
    DType("bool", "bool", 1),
)
DTYPES = {each.name: each for each in _ALL}
FLOATS = tuple(each.name for each in _ALL if each.is_float)


def storage_type(name: str) -> DType:
    """Return the element type called `name` by NumPy, also one that only texels have (int8)."""
    return DTYPES.get(name) or DType(name, name, np.dtype(name).itemsize)


def dtype(name: str) -> DType:
    """Return the type called `name` ("float32", ...); DeclarationError if there is none."""
    try:
        return DTYPES[name]
    except KeyError:
        raise DeclarationError(
            f"unknown element type {name!r}; {suggestion(name, DTYPES)}"
        ) from None
