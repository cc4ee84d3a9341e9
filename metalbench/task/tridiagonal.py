"""Tridiagonal systems for tasks: diagonally dominant inputs, and solutions in NumPy and MLX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from metalbench.task.inputs import Input, normal, uniform

Array = np.ndarray[Any, Any]


def tridiagonal_inputs(*dims: str) -> Mapping[str, Input]:
    """Return coefficients and right sides. The first lower and the last upper ones are not used."""
    return dict(
        lower=uniform(*dims, low=-1.0, high=1.0),
        diagonal=uniform(*dims, low=2.5, high=4.0),
        upper=uniform(*dims, low=-1.0, high=1.0),
        right=normal(*dims),
    )


def solve_tridiagonal(lower: Array, diagonal: Array, upper: Array, right: Array) -> Array:
    """Return the solutions of systems along the first axis, by Thomas' algorithm."""
    factors, y = np.zeros_like(upper), np.zeros_like(right)
    factors[0], y[0] = upper[0] / diagonal[0], right[0] / diagonal[0]
    for i in range(1, len(y)):
        pivot = diagonal[i] - lower[i] * factors[i - 1]
        factors[i] = upper[i] / pivot
        y[i] = (right[i] - lower[i] * y[i - 1]) / pivot
    for i in range(len(y) - 2, -1, -1):
        y[i] = y[i] - factors[i] * y[i + 1]
    return y


def solve_absolute_terms(lower: Array, diagonal: Array, upper: Array, right: Array) -> Array:
    """Return the solution with all terms positive, which bounds the rounding errors' growth.

    A matrix without positive coefficients off its diagonal has an inverse without negative ones.
    """
    return solve_tridiagonal(-np.abs(lower), diagonal, -np.abs(upper), np.abs(right))


def reduce_cyclically(lower: Any, diagonal: Any, upper: Any, right: Any, axis: int) -> Any:
    """Return the same with MLX, by parallel cyclic reduction along `axis`, 0 or 1."""
    import mlx.core as mx

    n = right.shape[axis]
    place = mx.arange(n).reshape((n, 1) if axis == 0 else (1, n))
    lower, upper = mx.where(place == 0, 0, lower), mx.where(place == n - 1, 0, upper)
    distance = 1

    def shift(x: Any, by: int, beyond: float) -> Any:
        reaches = (place >= by) if by > 0 else (place < n + by)
        return mx.where(reaches, mx.roll(x, by, axis), beyond)

    while distance < n:
        before = [shift(x, distance, x is diagonal) for x in (lower, diagonal, upper, right)]
        after = [shift(x, -distance, x is diagonal) for x in (lower, diagonal, upper, right)]
        by_before, by_after = -lower / before[1], -upper / after[1]
        lower, upper = by_before * before[0], by_after * after[2]
        diagonal = diagonal + by_before * before[2] + by_after * after[0]
        right = right + by_before * before[3] + by_after * after[3]
        distance *= 2
    return right / diagonal
