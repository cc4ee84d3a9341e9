"""Factorizations by XLA's custom calls have the defining properties of their results."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import hlo
from metalbench.errors import Unsupported

NAMES = {
    np.float16: "f16",
    np.float32: "f32",
    np.float64: "f64",
    np.complex64: "complex<f32>",
    np.complex128: "complex<f64>",
}
TYPES = pytest.mark.parametrize("type_", [np.float32, np.complex64, np.float64, np.complex128])


def scale_bound(bound, type_):
    """Return a bound of errors for a type, given that of float."""
    return bound * np.finfo(type_).eps / np.finfo(np.float32).eps


def draw_matrix(type_, *shape):
    pairs = np.random.default_rng(sum(shape)).standard_normal((*shape, 2))
    is_complex = np.issubdtype(type_, np.complexfloating)
    return (pairs @ [1, 1j] if is_complex else pairs[..., 0]).astype(type_)


def tensor(shape, type_):
    return f"tensor<{''.join(f'{each}x' for each in shape)}{NAMES[type_]}>"


def adjoint(array):
    return np.swapaxes(array, -1, -2).conj()


def eigh(matrix, config="1,1,100,1e-6"):
    type_ = matrix.dtype.type
    whole, line = tensor(matrix.shape, type_), tensor(matrix.shape[:-1], matrix.real.dtype.type)
    text = f"""func.func @main(%x: {whole}) -> ({whole}, {line}) {{
      %r:2 = stablehlo.custom_call @Eigh(%x) {{backend_config = "{config}"}}
        : ({whole}) -> ({whole}, {line})
      return %r#0, %r#1 : {whole}, {line}
    }}"""
    return hlo.compile(text, device="cpu")(matrix)


def qr(matrix):
    *batch, rows, columns = matrix.shape
    type_ = matrix.dtype.type
    whole, taus = tensor(matrix.shape, type_), tensor((*batch, min(rows, columns)), type_)
    text = f"""func.func @main(%x: {whole}) -> ({whole}, {whole}) {{
      %r:2 = stablehlo.custom_call @Qr(%x) : ({whole}) -> ({whole}, {taus})
      %q = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%r#0, %r#1)
        : ({whole}, {taus}) -> {whole}
      return %q, %r#0 : {whole}, {whole}
    }}"""
    return hlo.compile(text, device="cpu")(matrix)


@TYPES
@pytest.mark.parametrize("shape", [(5, 5), (2, 3, 24, 24)])
def test_eigenvectors_diagonalise_the_matrix(type_, shape):
    matrix = draw_matrix(type_, *shape)
    matrix += adjoint(matrix)
    vectors, values = eigh(matrix)
    wide = np.linalg.eigvalsh(matrix.astype(np.complex128))
    size = np.abs(wide).max()
    assert np.abs(values - wide).max() < scale_bound(3e-6, type_) * size
    rest = matrix @ vectors - vectors * values[..., None, :]
    assert np.abs(rest).max() < scale_bound(4e-6, type_) * size
    identity = adjoint(vectors) @ vectors
    assert np.abs(identity - np.eye(shape[-1])).max() < scale_bound(5e-6, type_)


def test_eigh_reads_one_triangle_and_handles_equal_large_and_nan_values():
    matrix = np.array([[2e30, 1e30], [np.inf, 2e30]], np.float32)
    vectors, values = eigh(matrix, "0,1,100,1e-6")
    np.testing.assert_allclose(values, [1e30, 3e30], rtol=1e-6)
    np.testing.assert_allclose(np.abs(vectors), np.sqrt(0.5), rtol=1e-6)
    vectors, values = eigh(np.diag(np.array([3, 1, 3, 0], np.float32)))
    assert values.tolist() == [0, 1, 3, 3]
    assert vectors.argmax(0).tolist() == [3, 1, 0, 2]
    vectors, values = eigh(np.array([[1, np.nan], [np.nan, 1]], np.float32))
    assert np.isnan(values).all()
    assert np.isnan(vectors).all()


@TYPES
@pytest.mark.parametrize("shape", [(2, 9, 5), (40, 20), (3, 3)])
def test_reflectors_make_a_matrix_triangular(type_, shape):
    matrix = draw_matrix(type_, *shape)
    if shape == (3, 3):
        matrix[:, 1] = 0
    q, r = qr(matrix)
    triangle = np.triu(r[..., : shape[-1], :])
    bounds = {"rtol": scale_bound(1e-7, type_), "atol": scale_bound(4e-6, type_)}
    np.testing.assert_allclose(q @ triangle, matrix, **bounds)
    assert np.abs(adjoint(q) @ q - np.eye(shape[-1])).max() < scale_bound(2e-6, type_)
    # The convention of LAPACK.
    assert np.abs(np.diagonal(r, 0, -2, -1).imag).max() == 0


def lu(matrix):
    *batch, rows, columns = matrix.shape
    whole = tensor(matrix.shape, matrix.dtype.type)
    pivots, order = (
        f"tensor<{''.join(f'{each}x' for each in (*batch, size))}i32>"
        for size in (min(rows, columns), rows)
    )
    results = f"({whole}, {pivots}, {order})"
    text = f"""func.func @main(%x: {whole}) -> {results} {{
      %r:3 = stablehlo.custom_call @LuDecomposition(%x) : ({whole}) -> {results}
      return %r#0, %r#1, %r#2 : {results[1:-1]}
    }}"""
    return hlo.compile(text, device="cpu")(matrix)


@pytest.mark.parametrize("type_", [np.float32, np.complex64])
@pytest.mark.parametrize("shape", [(1, 1), (2, 9, 5), (40, 70), (64, 64), (4, 3, 17, 17)])
def test_rows_are_exchanged_and_factored(type_, shape):
    matrix = draw_matrix(type_, *shape)
    factors, pivots, order = lu(matrix)
    least = min(shape[-2:])
    lower = np.tril(factors, -1)[..., :least] + np.eye(shape[-2], least, dtype=type_)
    upper = np.triu(factors)[..., :least, :]
    moved = np.take_along_axis(matrix, order[..., None].astype(int), -2)
    np.testing.assert_allclose(lower @ upper, moved, atol=4e-6 * shape[-1])
    # The largest element of a column is its pivot, so no factor of a row is above 1.
    real, imaginary = np.abs(np.tril(factors, -1).real), np.abs(np.tril(factors, -1).imag)
    assert np.maximum(real, imaginary).max() <= (1 if type_ is np.float32 else 1.5)
    for found, expected in zip(
        pivots.reshape(-1, least), order.reshape(-1, shape[-2]), strict=True
    ):
        rows = list(range(shape[-2]))
        for k, pivot in enumerate(found):
            rows[k], rows[pivot] = rows[pivot], rows[k]
        assert rows == expected.tolist()


def test_lu_of_zeros_equal_elements_and_nans():
    factors, pivots, order = lu(np.zeros((3, 3), np.float32))
    assert (factors.any(), pivots.tolist(), order.tolist()) == (False, [0, 1, 2], [0, 1, 2])
    assert lu(np.array([[1, 2], [-1, 3]], np.float32))[1].tolist() == [0, 1]
    assert np.isnan(lu(np.array([[1, 2], [np.nan, 3]], np.float32))[0]).any()


@pytest.mark.parametrize(
    ("call", "operands", "results", "expected"),
    [
        ("Qr", ["4x3xf32"], ["4x3xf32", "9xf32"], "tensor<3xf32>, got"),
        ("LuDecomposition", ["4x3xf32"], ["4x3xf32", "3xi32", "3xi32"], "tensor<4xi32>, got"),
        ("Eigh", ["4x3xf32"], ["4x3xf32", "4xf32"], "square matrices"),
        ("Qr", ["4xf32"], ["4xf32", "4xf32"], "expected a matrix"),
        (
            "ProductOfElementaryHouseholderReflectors",
            ["4x3xf32", "9xf32"],
            ["4x3xf32"],
            "at most 3 scalars",
        ),
    ],
)
def test_types_that_would_be_indexed_out_of_bounds_are_refused(call, operands, results, expected):
    given, found = ([f"tensor<{each}>" for each in some] for some in (operands, results))
    arguments = ", ".join(f"%x{n}: {each}" for n, each in enumerate(given))
    values = ", ".join(f"%r#{n}" for n in range(len(found))) if len(found) > 1 else "%r"
    text = f"""func.func @main({arguments}) -> ({", ".join(found)}) {{
      %r{":" + str(len(found)) if len(found) > 1 else ""} = stablehlo.custom_call @{call}(
        {", ".join(f"%x{n}" for n in range(len(given)))}) {{backend_config = "1,1,100,1e-6"}}
        : ({", ".join(given)}) -> ({", ".join(found)})
      return {values} : {", ".join(found)}
    }}"""
    with pytest.raises(Unsupported, match=expected):
        hlo.compile(text, device="cpu")


def test_halves_and_other_custom_calls_are_refused_by_name():
    with pytest.raises(Unsupported, match=r"\[stablehlo.qr\].*matrices of f32 or f64"):
        qr(draw_matrix(np.float16, 3, 3))
    text = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %y = stablehlo.custom_call @Other(%x) : (tensor<2xf32>) -> tensor<2xf32>
      return %y : tensor<2xf32>
    }"""
    with pytest.raises(Unsupported, match=r"\[stablehlo.custom_call\] .*@Other has no kernel yet"):
        hlo.compile(text, device="cpu")
