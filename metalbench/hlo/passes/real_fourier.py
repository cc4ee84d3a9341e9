"""Fourier transforms of real lines: half of the numbers are enough where the length is even.

Two neighbours are one complex number; of the transform of these, that of the even and of the odd
ones are what is symmetric and what is antisymmetric in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metalbench.hlo.graph import ELEMENT_TYPES, Value
from metalbench.hlo.passes.building import REAL, OperationBuilder

Array = np.ndarray[Any, Any]


def pack_pairs(to: OperationBuilder, value: Value) -> Value:
    """Two neighbours of each line as one complex number."""
    *outer, size = value.type.shape
    half, rank = size // 2, len(outer)
    pairs = to.made("reshape", [value], (*outer, half, 2), REAL)
    parts = [to.cut(pairs, rank + 1, each, each + 1) for each in range(2)]
    parts = [to.made("reshape", [each], (*outer, half), REAL) for each in parts]
    return to.made("complex", parts, (*outer, half))


def unpack_pairs(to: OperationBuilder, value: Value) -> Value:
    """The way back."""
    *outer, half = value.type.shape
    shape = (*outer, half, 1)
    parts = [to.made(part, [value], value.type.shape, REAL) for part in ("real", "imag")]
    parts = [to.made("reshape", [each], shape, REAL) for each in parts]
    whole = to.made("concatenate", parts, (*outer, half, 2), REAL, dimension=len(outer) + 1)
    return to.made("reshape", [whole], (*outer, 2 * half), REAL)


def split_packed_spectrum(to: OperationBuilder, value: Value, roots: Array) -> Value:
    """The first half of a line's transform, of that of its pairs; `roots` are of the line."""
    *outer, half = value.type.shape
    shape, axis = (*outer, half + 1), len(outer)
    first = to.cut(value, axis, 0, 1)
    ahead = to.made("concatenate", [value, first], shape, dimension=axis)
    back = to.made("reverse", [value], value.type.shape, dimensions=(axis,))
    behind = to.conjugate(to.made("concatenate", [first, back], shape, dimension=axis))
    turn = -0.5j * roots[: half + 1]
    return _combine(to, (ahead, behind), turn, np.full(half + 1, 0.5))


def pack_half_spectrum(to: OperationBuilder, value: Value, roots: Array) -> Value:
    """The transform of a line's pairs, twice, of the first half of the line's own."""
    *outer, size = value.type.shape
    half, axis = size - 1, len(outer)
    # Of the first and the last one the real part is what counts, whatever the other is.
    shape = value.type.shape
    ends = np.isin(np.arange(size), (0, half))
    real = to.made("real", [value], shape, REAL)
    truth = ELEMENT_TYPES["i1"]
    given = [to.constant(ends, truth)]
    chosen = to.made("broadcast_in_dim", given, shape, truth, broadcast_dimensions=(axis,))
    real = to.made("convert", [real], shape)
    value = to.made("select", [chosen, real, value], shape)
    ahead = to.cut(value, axis, 0, half)
    back = to.made("reverse", [value], shape, dimensions=(axis,))
    behind = to.conjugate(to.cut(back, axis, 0, half))
    return _combine(to, (ahead, behind), 1j * roots[:half], np.ones(half))


def _combine(to: OperationBuilder, both: tuple[Value, Value], turn: Array, scale: Array) -> Value:
    """The sum times `scale`, and the difference times `turn`, each a number for its place."""
    shape = both[0].type.shape
    axis = len(shape) - 1
    added = to.times(to.made("add", list(both), shape), scale, axis)
    apart = to.times(to.made("subtract", list(both), shape), turn, axis)
    return to.made("add", [added, apart], shape)


def mirror_half_spectrum(to: OperationBuilder, value: Value, length: int) -> Value:
    """All of a line whose second half is the first's conjugate, backwards."""
    axis = len(value.type.shape) - 1
    rest = to.conjugate(to.cut(value, axis, 1, (length + 1) // 2))
    shape = rest.type.shape
    rest = to.made("reverse", [rest], shape, dimensions=(axis,))
    whole = (*shape[:-1], length)
    return to.made("concatenate", [value, rest], whole, dimension=axis)
