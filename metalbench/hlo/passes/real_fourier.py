"""Build real Fourier transforms of even length from complex ones of half the length.

Two neighbours become one complex number. The symmetric and antisymmetric parts of the complex
transform are the transforms of the elements at even and at odd indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metalbench.hlo.graph import ELEMENT_TYPES, Value
from metalbench.hlo.passes.building import REAL, OperationBuilder

Array = np.ndarray[Any, Any]


def pack_pairs(builder: OperationBuilder, value: Value) -> Value:
    """Return each pair of neighbours of a line as one complex number."""
    *outer, size = value.type.shape
    half, rank = size // 2, len(outer)
    pairs = builder.create("reshape", [value], (*outer, half, 2), REAL)
    parts = [builder.slice(pairs, rank + 1, each, each + 1) for each in range(2)]
    parts = [builder.create("reshape", [each], (*outer, half), REAL) for each in parts]
    return builder.create("complex", parts, (*outer, half))


def unpack_pairs(builder: OperationBuilder, value: Value) -> Value:
    """Return the real and imaginary parts as neighbours of a line; inverse of `pack_pairs`."""
    *outer, half = value.type.shape
    shape = (*outer, half, 1)
    parts = [builder.create(part, [value], value.type.shape, REAL) for part in ("real", "imag")]
    parts = [builder.create("reshape", [each], shape, REAL) for each in parts]
    whole = builder.create("concatenate", parts, (*outer, half, 2), REAL, dimension=len(outer) + 1)
    return builder.create("reshape", [whole], (*outer, 2 * half), REAL)


def split_packed_spectrum(builder: OperationBuilder, value: Value, roots: Array) -> Value:
    """Return the first half of a line's spectrum, given the spectrum of its pairs.

    `roots` are the roots of unity for the length of the line.
    """
    *outer, half = value.type.shape
    shape, axis = (*outer, half + 1), len(outer)
    first = builder.slice(value, axis, 0, 1)
    ahead = builder.create("concatenate", [value, first], shape, dimension=axis)
    back = builder.create("reverse", [value], value.type.shape, dimensions=(axis,))
    behind = builder.conjugate(builder.create("concatenate", [first, back], shape, dimension=axis))
    turn = -0.5j * roots[: half + 1]
    return _combine(builder, (ahead, behind), turn, np.full(half + 1, 0.5))


def pack_half_spectrum(builder: OperationBuilder, value: Value, roots: Array) -> Value:
    """Return twice the spectrum of a line's pairs, given the first half of its spectrum."""
    *outer, size = value.type.shape
    half, axis = size - 1, len(outer)
    # The first and the last number are real: their imaginary parts are ignored.
    shape = value.type.shape
    ends = np.isin(np.arange(size), (0, half))
    real = builder.create("real", [value], shape, REAL)
    truth = ELEMENT_TYPES["i1"]
    given = [builder.create_constant(ends, truth)]
    chosen = builder.create("broadcast_in_dim", given, shape, truth, broadcast_dimensions=(axis,))
    real = builder.create("convert", [real], shape)
    value = builder.create("select", [chosen, real, value], shape)
    ahead = builder.slice(value, axis, 0, half)
    back = builder.create("reverse", [value], shape, dimensions=(axis,))
    behind = builder.conjugate(builder.slice(back, axis, 0, half))
    return _combine(builder, (ahead, behind), 1j * roots[:half], np.ones(half))


def _combine(
    builder: OperationBuilder, both: tuple[Value, Value], turn: Array, scale: Array
) -> Value:
    """Return the sum times `scale` plus the difference times `turn`, both indexed by place."""
    shape = both[0].type.shape
    axis = len(shape) - 1
    added = builder.scale_along(builder.create("add", list(both), shape), scale, axis)
    apart = builder.scale_along(builder.create("subtract", list(both), shape), turn, axis)
    return builder.create("add", [added, apart], shape)


def mirror_half_spectrum(builder: OperationBuilder, value: Value, length: int) -> Value:
    """Return the whole of a Hermitian line from its first half."""
    axis = len(value.type.shape) - 1
    rest = builder.conjugate(builder.slice(value, axis, 1, (length + 1) // 2))
    shape = rest.type.shape
    rest = builder.create("reverse", [rest], shape, dimensions=(axis,))
    whole = (*shape[:-1], length)
    return builder.create("concatenate", [value, rest], whole, dimension=axis)
