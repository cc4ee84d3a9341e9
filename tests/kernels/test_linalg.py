"""Factors of the family `linalg` multiply to the matrix, also where the task does not draw it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_outputs import compute

Array = np.ndarray[Any, Any]
SIZES = ("odd1", "odd3", "rows_of_a_block")
EXTENTS = {"rows_of_a_block": "batch=3,n=32"}
RANDOM = np.random.Generator(np.random.Philox(11))


def named(size: str) -> str:
    return EXTENTS.get(size, size)


@pytest.mark.parametrize("size", SIZES)
def test_cholesky_factors_multiply_to_the_matrix(size: str) -> None:
    given, found = compute("cholesky", named(size))
    y = found["y"].astype(np.float64)
    np.testing.assert_allclose(y @ y.swapaxes(-1, -2), given["a"], atol=1e-5)
    assert not np.triu(y, 1).any()
    assert (np.diagonal(y, axis1=-2, axis2=-1) > 0).all()


def test_cholesky_reads_the_upper_triangle_only() -> None:
    given, found = compute("cholesky")
    lower_is_nan = np.where(np.tri(67, k=-1) > 0, np.float32(np.nan), given["a"])
    _, again = compute("cholesky", a=lower_is_nan)
    np.testing.assert_array_equal(again["y"], found["y"])


@pytest.mark.parametrize("size", SIZES)
def test_lu_factors_multiply_to_the_rows_in_order(size: str) -> None:
    """Of matrices without clear pivots, too: any pivot near the largest element will do."""
    given, _ = compute("lu", named(size))
    a = RANDOM.standard_normal(given["a"].shape).astype(np.float32)
    _, found = compute("lu", named(size), a=a)
    n = a.shape[-1]
    lower = np.tril(found["y"].astype(np.float64), -1) + np.eye(n)
    upper = np.triu(found["y"].astype(np.float64))
    assert np.abs(lower).max() == 1
    for matrix, product, pivots in zip(a, lower @ upper, found["pivots"], strict=True):
        rows = matrix.astype(np.float64)
        for row, pivot in enumerate(pivots):
            rows[[row, pivot]] = rows[[pivot, row]]
        np.testing.assert_allclose(product, rows, atol=2e-4)


def test_lu_of_a_singular_matrix_is_finite() -> None:
    a = np.zeros((2, 67, 67), np.float32)
    a[:, :, 1:] = RANDOM.standard_normal((2, 67, 66))
    _, found = compute("lu", a=a)
    assert np.isfinite(found["y"]).all()
    assert not found["y"][:, :, 0].any()


@pytest.mark.parametrize("size", ["odd1", "odd3", "seed"])
def test_qr_factors_are_orthogonal_and_triangular(size: str) -> None:
    given, _ = compute("qr", size)
    a = RANDOM.standard_normal(given["a"].shape).astype(np.float32)
    _, found = compute("qr", size, a=a)
    q, r = (found[each].astype(np.float64) for each in "qr")
    np.testing.assert_allclose(q @ r, a, atol=2e-5)
    unit = np.broadcast_to(np.eye(a.shape[-1]), r.shape)
    np.testing.assert_allclose(q.swapaxes(-1, -2) @ q, unit, atol=1e-5)
    assert not np.tril(r, -1).any()


def test_qr_of_columns_that_are_reflected_already() -> None:
    """A column without elements below the diagonal needs no reflection."""
    a = np.broadcast_to(np.eye(67, 37, dtype=np.float32), (2, 67, 37)).copy()
    _, found = compute("qr", a=a)
    np.testing.assert_array_equal(found["q"], a)
    np.testing.assert_array_equal(found["r"], a[:, :37])


def test_triangular_solutions_satisfy_their_equations() -> None:
    given, found = compute("triangular_solve", "odd3")
    product = given["a"].astype(np.float64) @ found["y"].astype(np.float64)
    np.testing.assert_allclose(product, given["b"], atol=1e-5)


def test_triangular_solve_reads_the_lower_triangle_only() -> None:
    given, found = compute("triangular_solve")
    upper_is_nan = np.where(np.tri(67) > 0, given["a"], np.float32(np.nan))
    _, again = compute("triangular_solve", a=upper_is_nan)
    np.testing.assert_array_equal(again["y"], found["y"])


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 31, 32])
def test_small_systems_are_solved_whatever_the_order_of_their_rows(n: int) -> None:
    """Zeros on the diagonal need pivots."""
    a = np.eye(n) * RANDOM.uniform(1, 2, (4, 1, n)) + np.tril(RANDOM.uniform(-1, 1, (4, n, n)), -1)
    order = np.argsort(RANDOM.random((4, n)), axis=-1)
    a = np.take_along_axis(a, order[..., None], axis=-2).astype(np.float32)
    x = RANDOM.standard_normal((4, n))
    b = np.einsum("bij,bj->bi", a, x).astype(np.float32)
    _, found = compute("small_solve", f"batch=4,n={n}", a=a, b=b)
    residual = np.einsum("bij,bj->bi", a, found["y"].astype(np.float64)) - b
    size = np.abs(a).sum(axis=(1, 2)) * np.abs(found["y"]).max(axis=1)
    assert (np.abs(residual).max(axis=1) <= 1e-6 * size).all()
