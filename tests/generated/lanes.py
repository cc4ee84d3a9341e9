"""The functions of SIMD-groups and quads, on arrays of lanes by numpy.

An array has a row of 32 lanes for every SIMD-group; of vectors, components along a third axis. A
mask says which lanes take part.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

WIDTH = 32
Array = np.ndarray
_JOIN: dict[str, Callable[[Array, Array], Array]] = {
    "sum": np.add,
    "product": np.multiply,
    "min": np.fmin,
    "max": np.fmax,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
MOVES = {
    "shuffle": lambda at, by, size: by,
    "broadcast": lambda at, by, size: by,
    "shuffle_up": lambda at, by, size: at - by,
    "shuffle_down": lambda at, by, size: at + by,
    "shuffle_xor": lambda at, by, size: at ^ by,
    "shuffle_rotate_up": lambda at, by, size: (at - by) % size,
    "shuffle_rotate_down": lambda at, by, size: (at + by) % size,
}
REDUCTIONS = tuple(_JOIN)
SCANS = tuple(
    f"prefix_{how}_{what}" for how in ("inclusive", "exclusive") for what in ("sum", "product")
)


def together(function: str, operands: list[Array], mask: Array) -> Array:
    """Return the result of `simd_...` or `quad_...` in every lane; `mask` are the calling lanes."""
    part, _, name = function.partition("_")
    size = WIDTH if part == "simd" else 4
    if name in REDUCTIONS:
        return _reduce(name, operands[0], mask, size)
    if name.startswith("prefix_"):
        _, how, what = name.split("_")
        return _scan(what, operands[0], mask, size, inclusive=how == "inclusive")
    if name in MOVES:
        return _move(name, operands[0], operands[1], mask, size)
    if name.startswith("shuffle_and_fill"):
        return _fill(operands, mask, size, up=name.endswith("up"))
    if name == "broadcast_first":
        first = np.argmax(mask.reshape(-1, size), axis=1)
        sources = np.repeat(first, size).reshape(mask.shape) + _bases(mask, size)
        return _from(operands[0], sources, mask)
    return _vote(name, operands, mask, size)


def _of_mask(mask: Array, values: Array) -> Array:
    """A mask with an axis for components where values have one."""
    return mask if values.ndim == mask.ndim else mask[..., None]


def _neutral(name: str, dtype: np.dtype) -> object:
    is_float = dtype.kind not in "iu"
    if name == "min":
        return np.inf if is_float else np.iinfo(dtype).max
    if name == "max":
        return -np.inf if is_float else np.iinfo(dtype).min
    return {"product": 1, "and": ~dtype.type(0) if not is_float else 0}.get(name, 0)


def _parts(values: Array, size: int) -> Array:
    """Rows of the lanes that belong together."""
    return values.reshape(-1, size, *values.shape[2:])


def _reduce(name: str, values: Array, mask: Array, size: int) -> Array:
    """Reduce by halves: the upper one joins the lower."""
    dtype = values.dtype
    active = np.where(_of_mask(mask, values), values, dtype.type(_neutral(name, dtype)))
    found = _parts(active, size)
    count = size
    while count > 1:
        count //= 2
        found = _JOIN[name](found[:, :count], found[:, count : 2 * count])
    return np.repeat(found, size, axis=1).reshape(values.shape).astype(dtype)


def _scan(name: str, values: Array, mask: Array, size: int, *, inclusive: bool) -> Array:
    dtype = values.dtype
    neutral = dtype.type(_neutral(name, dtype))
    parts = _parts(np.where(_of_mask(mask, values), values, neutral), size)
    found = np.empty_like(parts)
    running = np.full_like(parts[:, 0], neutral)
    for lane in range(size):
        after = _JOIN[name](running, parts[:, lane]).astype(dtype)
        found[:, lane] = after if inclusive else running
        running = after
    return found.reshape(values.shape)


def _bases(mask: Array, size: int) -> Array:
    lanes = np.broadcast_to(np.arange(WIDTH), mask.shape)
    return lanes // size * size


def _from(values: Array, sources: Array, mask: Array) -> Array:
    """Other lanes' values: zero of those that do not take part, or are none."""
    inside = (sources >= 0) & (sources < WIDTH)
    sources = np.where(inside, sources, 0)
    rows = np.arange(len(values))[:, None]
    there = inside & mask[rows, sources]
    found = values[rows, sources]
    return np.where(_of_mask(there, found), found, values.dtype.type(0))


def _move(name: str, values: Array, by: Array, mask: Array, size: int) -> Array:
    base, lanes = _bases(mask, size), np.broadcast_to(np.arange(WIDTH), mask.shape)
    sources = MOVES[name](lanes - base, by.astype(np.int64), size)
    inside = (sources >= 0) & (sources < size)
    # Up and down leave a lane's own value where there is no other.
    otherwise = lanes if name in ("shuffle_up", "shuffle_down") else np.full_like(lanes, WIDTH)
    return _from(values, np.where(inside, base + sources, otherwise), mask)


def _fill(operands: list[Array], mask: Array, size: int, *, up: bool) -> Array:
    values, fill, by = operands[0], operands[1], operands[2].astype(np.int64)
    modulo = operands[3].astype(np.int64) if len(operands) > 3 else np.full_like(by, size)
    lanes = np.broadcast_to(np.arange(WIDTH), mask.shape)
    at = lanes % modulo
    moved = at - by if up else at + by
    inside = (moved >= 0) & (moved < modulo)
    sources = lanes - at + moved % modulo
    one, other = _from(values, sources, mask), _from(fill, sources, mask)
    return np.where(_of_mask(inside, one), one, other)


def _vote(name: str, operands: list[Array], mask: Array, size: int) -> Array:
    votes = (operands[0] if operands else np.ones_like(mask)) & mask
    if name == "is_first":
        first = np.repeat(np.argmax(_parts(mask, size), axis=1), size).reshape(mask.shape)
        return mask & (np.arange(WIDTH) % size == first)
    if name == "any":
        found = _parts(votes, size).any(axis=1)
    elif name == "all":
        found = _parts(votes | ~mask, size).all(axis=1)
    else:  # a ballot
        weights = np.uint32(1) << np.arange(size, dtype=np.uint32)
        found = (_parts(votes, size) * weights).sum(axis=1, dtype=np.uint32)
    return np.repeat(found, size).reshape(mask.shape)
