"""The types of generated programs, in MSL and in numpy."""

from __future__ import annotations

import numpy as np
from msl.conformance import TYPES

INTEGERS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
FLOATS = ("half", "float", "bfloat")
VECTORS = ("uint2", "uint3", "uint4", "ushort2", "uchar4", "float2", "float3", "float4", "half4")


def scalar_of(kind: str) -> str:
    """The type of a vector's components; a scalar's own."""
    return kind.removeprefix("packed_").rstrip("234")


def width_of(kind: str) -> int:
    """Return the number of components; 1 of a scalar."""
    return int(kind[-1]) if kind[-1] in "234" else 1


def dtype_of(kind: str) -> np.dtype:
    """numpy's type of a scalar, or of a vector's components."""
    return np.dtype(TYPES[scalar_of(kind)])


def is_float(kind: str) -> bool:
    """Return whether a type is a floating-point type, or a vector of one."""
    return scalar_of(kind) in FLOATS


def bits_of(kind: str) -> int:
    """The bits of a scalar."""
    return 8 * dtype_of(kind).itemsize


def wrapping(kind: str) -> str:
    """The type in which an integer's sums may wrap."""
    return "ulong" if bits_of(kind) == 64 else "uint"
