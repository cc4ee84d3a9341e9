"""Results of operators and functions of one lane, on arrays of all lanes by numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from generated.kinds import dtype_of, width_of

Array = np.ndarray


def _quotient(a: Array, b: Array) -> Array:
    """Rounded to zero; the least number by -1 gives itself."""
    if a.dtype.kind not in "iu":
        return a / b
    return np.floor_divide(a - np.fmod(a, b), b)


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _quotient,
    "%": np.fmod,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<<": np.left_shift,
    ">>": np.right_shift,
}
COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
UNARY: dict[str, Callable[[Array], Array]] = {
    "-": np.negative,
    "~": np.bitwise_not,
    "!": np.logical_not,
}


def cast(values: Array, kind: str) -> Array:
    """A conversion: of floats the nearest integer towards zero, of no number zero."""
    dtype = dtype_of(kind)
    if values.dtype.kind not in "biu" and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        whole = np.trunc(np.where(np.isnan(values), 0, values).astype(np.float64))
        # The largest of 64 bits is not a float64, but the next number is.
        fits = (whole >= limits.min) & (whole < 2.0 ** (limits.bits - (dtype.kind == "i")))
        ends = np.where(whole < 0, dtype.type(limits.min), dtype.type(limits.max))
        values = np.where(fits, np.where(fits, whole, 0).astype(dtype), ends)
    found = values.astype(dtype)
    if width_of(kind) > 1 and found.ndim == 2:
        return np.repeat(found[..., None], width_of(kind), axis=2)
    return found


def recast(values: Array, kind: str) -> Array:
    """`as_type`: the same bytes."""
    whole = values if values.ndim == 3 else values[..., None]
    found = np.ascontiguousarray(whole).view(dtype_of(kind))
    return found if width_of(kind) > 1 else found[..., 0]


def _bits(values: Array) -> Array:
    """The bits of integers along a further axis, the lowest first."""
    octets = np.ascontiguousarray(values)[..., None].view(np.uint8)
    return np.unpackbits(octets, axis=-1, bitorder="little")


def _of_bits(bits: Array, dtype: np.dtype) -> Array:
    return np.packbits(bits, axis=-1, bitorder="little").view(dtype)[..., 0]


def _leading_zeros(values: Array) -> Array:
    bits = _bits(values)[..., ::-1]
    return np.where(bits.any(axis=-1), bits.argmax(axis=-1), bits.shape[-1])


def _trailing_zeros(values: Array) -> Array:
    bits = _bits(values)
    return np.where(bits.any(axis=-1), bits.argmax(axis=-1), bits.shape[-1])


def _rotate(values: Array, by: Array) -> Array:
    bits = _bits(values)
    size = bits.shape[-1]
    sources = (np.arange(size) - by.astype(np.int64)[..., None]) % size
    return _of_bits(np.take_along_axis(bits, sources, axis=-1), values.dtype)


def _saturated(values: Array, dtype: np.dtype) -> Array:
    limits = np.iinfo(dtype)
    return np.clip(values, limits.min, limits.max)


def builtin(function: str, operands: list[Array], kind: str) -> Array:
    """A function of the standard library; the result has the type `kind`."""
    return _BUILTINS[function](*operands).astype(dtype_of(kind))


def _least(a: Array, b: Array) -> Array:
    return np.fmin(a, b)


def _clamped(a: Array, low: Array, high: Array) -> Array:
    return np.fmin(np.fmax(a, low), high)


def _wide(a: Array) -> Array:
    return a.astype(np.int64)


_BUILTINS: dict[str, Callable[..., Array]] = {
    "min": _least,
    "max": np.fmax,
    "clamp": _clamped,
    "select": lambda a, b, c: np.where(c if c.ndim == a.ndim else c[..., None], b, a),
    "popcount": lambda a: _bits(a).sum(axis=-1),
    "clz": _leading_zeros,
    "ctz": _trailing_zeros,
    "rotate": _rotate,
    "reverse_bits": lambda a: _of_bits(_bits(a)[..., ::-1], a.dtype),
    "mulhi": lambda a, b: (
        (_wide(a) * _wide(b)) >> 32
        if a.dtype.kind == "i"
        else (a.astype(np.uint64) * b.astype(np.uint64)) >> np.uint64(32)
    ),
    "addsat": lambda a, b: _saturated(_wide(a) + _wide(b), a.dtype),
    "subsat": lambda a, b: _saturated(_wide(a) - _wide(b), a.dtype),
    "fabs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
}
# By the types that they are for: how many operands of the result's type they take.
OF_INTEGERS = {"min": 2, "max": 2, "clamp": 3, "popcount": 1, "clz": 1, "ctz": 1}
OF_WORDS = {"rotate": 2, "reverse_bits": 1, "mulhi": 2, "addsat": 2, "subsat": 2}
OF_FLOATS = {"min": 2, "max": 2, "fabs": 1, "floor": 1, "ceil": 1, "trunc": 1}
