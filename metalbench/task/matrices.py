"""Batches of square matrices for tasks: inputs whose factors are well conditioned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from metalbench.task.inputs import Input, normal

Array = np.ndarray[Any, Any]


def positive_definite(*dims: str) -> Input:
    """Return symmetric matrices B B^T / n + I, eigenvalues from 1 to about 5."""

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
        b = random.standard_normal(shape)
        return np.asarray(np.matmul(b, b.swapaxes(-1, -2)) / shape[-1] + np.eye(shape[-1]))

    return _matrices("positive definite", draw, *dims)


def lower_triangular(*dims: str) -> Input:
    """Return lower triangles, diagonals in [1, 2]; other elements of a row sum to at most 1."""

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
        below = np.tril(random.uniform(-1, 1, shape), -1) / shape[-1]
        return below + np.eye(shape[-1]) * random.uniform(1, 2, shape)

    return _matrices("lower triangular", draw, *dims)


def full_rank(*dims: str) -> Input:
    """Return matrices (batch, m, n), m >= n, with singular values from 1 to 4."""

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
        n = shape[-1]
        left = np.linalg.qr(random.standard_normal(shape))[0]
        right = np.linalg.qr(random.standard_normal((*shape[:-2], n, n)))[0]
        scales = random.uniform(1, 4, (*shape[:-2], 1, n))
        return np.asarray(np.matmul(left * scales, right))

    return _matrices("full rank", draw, *dims)


def with_clear_pivots(*dims: str) -> Input:
    """Return matrices P L U, where no other element is near the pivot of a column in magnitude.

    Elements of L below its diagonal are at most 3 / 4, so that rounding errors do not change the
    order of the rows.
    """

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
        n = shape[-1]
        lower = np.tril(random.uniform(-0.75, 0.75, shape), -1) * (4 / (4 + np.sqrt(n)))
        signs = np.sign(random.uniform(-1, 1, (*shape[:-1], 1)))
        upper = np.triu(random.standard_normal(shape), 1) / np.sqrt(n)
        upper = upper + np.eye(n) * signs * random.uniform(1, 2, (*shape[:-1], 1))
        order = np.argsort(random.random(shape[:-1]), axis=-1)
        product = np.matmul(lower + np.eye(n), upper)
        return np.take_along_axis(product, order[..., None], axis=-2)

    return _matrices("with clear pivots", draw, *dims)


def _matrices(
    called: str, draw: Callable[[np.random.Generator, tuple[int, ...]], Array], *dims: str
) -> Input:
    return replace(
        normal(*dims).only(),
        distribution=called,
        draw=lambda random, shape, _: draw(random, shape).astype(np.float32),
        together=True,
        exchangeable=False,
    )


def substitute_forward(a: Array, b: Array) -> Array:
    """Return X with A X = B of lower triangles A (batch, n, n) and B (batch, n, sides)."""
    x = np.zeros_like(b)
    for row in range(a.shape[-1]):
        above = np.matmul(a[:, row : row + 1, :row], x[:, :row])[:, 0]
        x[:, row] = (b[:, row] - above) / a[:, row, row, None]
    return x


def factor_lu(a: Array) -> tuple[Array, Array]:
    """Return L and U of matrices (batch, n, n) in one, and the pivots' rows (batch, n)."""
    y, n = a.copy(), a.shape[-1]
    every = np.arange(len(a))
    pivots = np.zeros(a.shape[:-1], np.uint32)
    for k in range(n):
        pivot = k + np.argmax(np.abs(y[:, k:, k]), axis=-1)
        pivots[:, k] = pivot
        y[every, k], y[every, pivot] = y[every, pivot], y[every, k]
        y[:, k + 1 :, k] = y[:, k + 1 :, k] / y[:, k, k, None]
        y[:, k + 1 :, k + 1 :] -= y[:, k + 1 :, k, None] * y[:, k, None, k + 1 :]
    return y, pivots
