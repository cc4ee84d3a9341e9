"""Points of the elliptic curve BN254, y^2 = x^3 + 3 (EIP-196), for tasks: random ones, and sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from metalbench.task import fields
from metalbench.task.inputs import Input, integers

Array = np.ndarray[Any, Any]
# None is the point at infinity.
Point = tuple[int, int] | None

PRIME = fields.BN254_BASE
GENERATOR = (1, 2)
# Coordinates in arrays are in Montgomery's form: times two to the power of their 256 bits.
_RADIX = 2**256
_INVERSE_RADIX = pow(_RADIX, -1, PRIME)
# The number of different points in random arrays.
_POOL = 64


def add(a: Point, b: Point) -> Point:
    """Return the sum of two points."""
    if a is None or b is None:
        return b if a is None else a
    if a[0] == b[0]:
        if (a[1] + b[1]) % PRIME == 0:
            return None
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, PRIME)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, PRIME)
    x = (slope * slope - a[0] - b[0]) % PRIME
    return x, (slope * (a[0] - x) - a[1]) % PRIME


def add_all(points: Iterable[Point]) -> Point:
    """Return the sum of points."""
    total: Point = None
    for each in points:
        total = add(total, each)
    return total


def to_array(points: Sequence[Point]) -> Array:
    """Return points as uint32 (points, 2, 8), in Montgomery's form; (0, 0) for infinity."""
    numbers = [each * _RADIX % PRIME for point in points for each in point or (0, 0)]
    return fields.to_limbs(numbers, len(points), 2, 8)


def to_points(array: Array) -> list[Point]:
    """Return the points of an array (points, 2, 8), as of `to_array`."""
    numbers = [each * _INVERSE_RADIX % PRIME for each in fields.to_integers(array)]
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    return [pair if pair != (0, 0) else None for pair in pairs]


def points(count: str) -> Input:
    """Return points (count, 2, 8), uint32, of a small set: some are equal, some opposite."""
    plain = integers(count, 2, 8, high=2**32)

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], values: Mapping[str, int]
    ) -> Array:
        step = scale(GENERATOR, int(random.integers(1, 2**62)))
        pool = [step]
        while len(pool) < _POOL:
            pool.append(add(pool[-1], step))
        opposite = [None if each is None else (each[0], PRIME - each[1]) for each in pool]
        return to_array(pool + opposite)[random.integers(0, 2 * _POOL, shape[0])]

    return replace(plain, draw=draw, distribution="points of BN254", together=True)


def scale(point: Point, by: int) -> Point:
    """Return the sum of `by` times the point."""
    total: Point = None
    while by:
        total = add(total, point) if by & 1 else total
        point, by = add(point, point), by >> 1
    return total
