"""Functions that the translated code of a kernel calls (`lane_code.py`), on arrays of threads.

A value is an array with one element for each thread of a step, a row for each thread of a vector,
or a scalar (an array of one row) if it is the same for all threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def as_signed(value: Any) -> Any:
    """Return the same bits as signed integers."""
    return value.view(np.int8) if value.dtype == bool else value.view(_SIGNED[value.dtype.itemsize])


def as_unsigned(value: Any) -> Any:
    """Return the same bits as unsigned integers."""
    return value.view(_UNSIGNED[value.dtype.itemsize])


def nonzero(value: Any) -> Any:
    """Return divisors without zeros: dividing by zero has no defined result."""
    return np.where(value == 0, value.dtype.type(1), value)


def divide(first: Any, second: Any) -> Any:
    """Return quotients that are rounded towards zero."""
    a, b = as_signed(first), nonzero(as_signed(second))
    quotient = np.abs(a) // np.abs(b)
    return as_unsigned(np.where((a < 0) != (b < 0), -quotient, quotient))


def remainder(first: Any, second: Any) -> Any:
    """Return remainders with the sign of the dividend."""
    a, b = as_signed(first), nonzero(as_signed(second))
    return as_unsigned(np.fmod(a, b))


def to_unsigned(value: Any, kind: Any) -> Any:
    """Convert numbers to unsigned integers; the result saturates, and NaN becomes zero."""
    limit = float(2 ** (8 * np.dtype(kind).itemsize) - 1)
    return np.clip(np.nan_to_num(np.asarray(value, np.float64)), 0, limit).astype(kind)


def to_signed(value: Any, kind: Any) -> Any:
    """Convert numbers to signed integers, given as unsigned ones; the result saturates."""
    target = _SIGNED[np.dtype(kind).itemsize]
    limit = 2.0 ** (8 * np.dtype(target).itemsize - 1)
    wide = np.clip(np.nan_to_num(np.asarray(value, np.float64)), -limit, limit - 1)
    return as_unsigned(wide.astype(target))


def bfloat(value: Any) -> Any:
    """Round float32 to the nearest bfloat16."""
    return widen(narrow(value))


def widen(words: Any) -> Any:
    """Return the float32 of the bits of bfloat16."""
    return (np.asarray(words).astype(np.uint32) << np.uint32(16)).view(np.float32)


def narrow(value: Any) -> Any:
    """Return the bits of bfloat16 of float32, rounded to nearest even."""
    words = np.asarray(value, np.float32).view(np.uint32)
    rounded = words + np.uint32(0x7FFF) + ((words >> np.uint32(16)) & np.uint32(1))
    return (rounded >> np.uint32(16)).astype(np.uint16)


def bits(value: Any, kind: Any, count: int) -> Any:
    """Return the same bits as another type; a vector if `count` is not zero."""
    value = np.asarray(value)
    rows = value.reshape(-1, 1) if value.ndim < 2 else np.ascontiguousarray(value)
    found = rows.view(kind)
    if count:
        return found
    return found.reshape(-1) if value.ndim else found.reshape(-1)[0]


def uniform(value: Any) -> bool:
    """Return whether a condition is the same for all threads of a step."""
    value = np.asarray(value)
    if value.size == 1:
        return True
    return bool(value.all()) or not bool(value.any())


class Values(list[Any]):
    """The values of a run by their numbers; `threads` are those of all SIMD-groups."""

    def __init__(self, count: int, threads: int) -> None:
        super().__init__([None] * count)
        self.threads = threads


def get(values: Values, number: int, index: Array | None) -> Any:
    """Return a value of the threads of a step."""
    return _pick_value(values[number], index)


def _pick_value(value: Any, index: Array | None) -> Any:
    if isinstance(value, tuple):
        return tuple(_pick_value(each, index) for each in value)
    if index is None or value is None or np.ndim(value) == 0 or value.shape[0] == 1:
        return value
    return value[index]


def put(values: Values, number: int, index: Array | None, value: Any) -> None:
    """Set a value for the threads of a step; those of the others stay."""
    if index is not None:
        value = _merge(values[number], index, value, values.threads)
    values[number] = value


def _merge(old: Any, index: Array, value: Any, threads: int) -> Any:
    if isinstance(value, tuple):
        before = old if isinstance(old, tuple) else (None,) * len(value)
        return tuple(_merge(a, index, b, threads) for a, b in zip(before, value, strict=True))
    value = np.asarray(value)
    single = value.ndim == 0 or value.shape[0] == 1
    if single and old is not None and np.ndim(old) == value.ndim:
        one = np.asarray(old)
        if one.size == value.size and np.array_equal(one, value, equal_nan=value.dtype.kind == "f"):
            return old
    tail = value.shape[1:]
    if old is None or np.ndim(old) == 0 or old.shape[0] == 1:
        whole = np.zeros((threads, *tail), value.dtype)
        if old is not None:
            whole[:] = old
    else:
        whole = old.copy()
    whole[index] = value
    return whole


def pick(index: Array | None, part: Array) -> Array:
    """Return the threads of a part of a step."""
    return part if index is None else index[part]


def taken(value: Any, part: Array | None) -> Any:
    """Return a value of a part of the threads of a step."""
    return value if part is None else _pick_value(value, part)


def element(vector: Any, at: Any) -> Any:
    """Return an element of vectors."""
    if np.ndim(at) == 0:
        found = vector[:, int(at)]
    else:
        rows = max(len(vector), len(at))
        whole = np.broadcast_to(vector, (rows, vector.shape[1]))
        found = whole[np.arange(rows), np.minimum(at, vector.shape[1] - 1)]
    return found


def insert_element(vector: Any, value: Any, at: Any) -> Any:
    """Return vectors with another element."""
    value = np.asarray(value).reshape(-1)
    rows = max(len(vector), len(value), np.size(at))
    whole = np.broadcast_to(vector, (rows, vector.shape[1])).copy()
    if np.ndim(at) == 0:
        whole[:, int(at)] = value
    else:
        whole[np.arange(rows), np.minimum(at, vector.shape[1] - 1)] = value
    return whole


def both(first: Any, second: Any) -> Any:
    """Return the elements of two vectors, one after the other."""
    rows = max(len(first), len(second))
    return np.concatenate(
        [np.broadcast_to(each, (rows, each.shape[1])) for each in (first, second)], axis=1
    )


def select(condition: Any, yes: Any, no: Any) -> Any:
    """Return one of two values for each thread."""
    if isinstance(yes, tuple):
        return tuple(select(condition, a, b) for a, b in zip(yes, no, strict=True))
    if np.ndim(condition) == 0:
        return yes if condition else no
    if np.ndim(condition) == 1 and max(np.ndim(yes), np.ndim(no)) == 2:
        condition = condition[:, None]
    return np.where(condition, yes, no)


def _bits_of(value: Any) -> int:
    return 8 * int(value.dtype.itemsize)


def funnel_left(high: Any, low: Any, by: Any) -> Any:
    """Return `high:low << by`, its upper half."""
    width = high.dtype.type(_bits_of(high))
    by = by % width
    return np.where(by == 0, high, (high << by) | (low >> ((width - by) % width)))


def funnel_right(high: Any, low: Any, by: Any) -> Any:
    """Return `high:low >> by`, its lower half."""
    width = high.dtype.type(_bits_of(high))
    by = by % width
    return np.where(by == 0, low, (low >> by) | (high << ((width - by) % width)))


def reverse_bits(value: Any) -> Any:
    """Return the bits in reverse order."""
    result = np.zeros_like(value)
    one = value.dtype.type(1)
    for at in range(_bits_of(value)):
        result = (result << one) | ((value >> value.dtype.type(at)) & one)
    return result


def leading_zeros(value: Any) -> Any:
    """Return the number of zeros before the first one."""
    wide = np.asarray(value).astype(np.float64)
    width = _bits_of(value)
    exponents = np.frexp(wide)[1]
    return (width - np.where(np.asarray(value) == 0, 0, exponents)).astype(value.dtype)


def trailing_zeros(value: Any) -> Any:
    """Return the number of zeros after the last one."""
    one = value.dtype.type(1)
    lowest = value & (~value + one)
    found = np.frexp(np.asarray(lowest).astype(np.float64))[1] - 1
    return np.where(np.asarray(value) == 0, _bits_of(value), found).astype(value.dtype)


FUNCTIONS: dict[str, Any] = {
    each.__name__: each
    for each in (
        *(as_signed, as_unsigned, nonzero, divide, remainder, to_unsigned, to_signed, bfloat, bits),
        *(uniform, get, put, pick, taken, element, insert_element, both, select),
        *(funnel_left, funnel_right, reverse_bits, leading_zeros, trailing_zeros),
    )
}
