"""Complex numbers: arithmetic against NumPy in double precision, and data movement."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import hlo
from metalbench.errors import Unsupported
from metalbench.hlo.operations import OPERATIONS

UNARY = {
    "cbrt": lambda z: z ** (z.real.dtype.type(1) / 3),
    "cosine": np.cos,
    "exponential": np.exp,
    "exponential_minus_one": np.expm1,
    "log": np.log,
    "log_plus_one": np.log1p,
    "logistic": lambda z: 1 / (1 + np.exp(-z)),
    "negate": np.negative,
    "rsqrt": lambda z: 1 / np.sqrt(z),
    "sign": lambda z: z / np.abs(z),
    "sine": np.sin,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}
BINARY = {
    "add": np.add,
    "atan2": lambda y, x: -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y)),
    "divide": np.divide,
    "maximum": lambda a, b: np.where(a.real < b.real, b, a),
    "minimum": lambda a, b: np.where(b.real < a.real, b, a),
    "multiply": np.multiply,
    "power": np.power,
    "subtract": np.subtract,
}
# Bounds of a result's error; atan2 is a logarithm of a number near one, with a larger error.
TOLERANCES = {"atan2": 4e-6, "power": 2e-6}
LEVELS = pytest.mark.parametrize("level", [0, 2, 3])


# NumPy's type, StableHLO's name, the type of the oracle, and the unit that tolerances scale with.
PRECISIONS = {
    "complex64": (np.complex64, "complex<f32>", np.complex128, 1),
    "complex128": (np.complex128, "complex<f64>", np.clongdouble, 2.0**-29),
}


def draw_numbers(*shape, seed=0):
    generator = np.random.default_rng(seed)
    pairs = generator.standard_normal((*shape, 2)).astype(np.float32)
    return pairs.view(np.complex64)[..., 0]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_arithmetic_is_numpys_in_more_precision(precision):
    kind, kind_name, oracle, unit = PRECISIONS[precision]
    if np.finfo(oracle).nmant < np.finfo(kind).nmant + 11:
        pytest.skip("needs a long double with more bits than double")
    assert {*UNARY, *BINARY} == {name for name, each in OPERATIONS.items() if each.complex_msl}
    # Include the unit circle, where a logarithm loses digits, and small and large numbers.
    circle = np.exp(1j * np.linspace(-3, 3, 40)).astype(kind)
    z = np.concatenate(
        [draw_numbers(40), circle, draw_numbers(20) * np.float32(1e-3), 8 * draw_numbers(20)]
    )
    w = np.roll(draw_numbers(120, seed=1), 1)
    # All bits of the numbers matter.
    z, w = (each.astype(kind) * kind(1.1) for each in (z, w))
    type_, names = f"tensor<120x{kind_name}>", [*BINARY, *UNARY]
    operands = [", ".join(["%a", "%b"][: 1 + (name in BINARY)]) for name in names]
    lines = [
        f"%{number} = stablehlo.{name} {given} : {type_}"
        for number, (name, given) in enumerate(zip(names, operands, strict=True))
    ]
    whole = f"tensor<{120 * len(names)}x{kind_name}>"
    results = ", ".join(f"%{number}" for number in range(len(names)))
    text = f"""func.func @main(%a: {type_}, %b: {type_}) -> {whole} {{
      {chr(10).join(lines)}
      %all = stablehlo.concatenate {results}, dim = 0
        : ({", ".join([type_] * len(names))}) -> {whole}
      return %all : {whole}
    }}"""
    (found,) = hlo.compile(text, device="cpu")(z, w)
    wide = z.astype(oracle), w.astype(oracle)
    for name, got in zip(names, found.reshape(-1, 120), strict=True):
        wanted = UNARY[name](wide[0]) if name in UNARY else BINARY[name](*wide)
        error = np.abs(got - wanted) / np.maximum(np.abs(wanted), float(name == "atan2"))
        assert error.max() < TOLERANCES.get(name, 6e-7) * unit, (
            name,
            z[error.argmax()],
            error.max(),
        )


def test_large_small_and_infinite_numbers_keep_their_precision():
    text = """
    func.func @main(%a: tensor<5xcomplex<f32>>, %b: tensor<5xcomplex<f32>>)
        -> (tensor<5xf32>, tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) {
      %0 = stablehlo.abs %a : (tensor<5xcomplex<f32>>) -> tensor<5xf32>
      %1 = stablehlo.divide %a, %b : tensor<5xcomplex<f32>>
      %2 = stablehlo.sqrt %a : tensor<5xcomplex<f32>>
      return %0, %1, %2 : tensor<5xf32>, tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>
    }"""
    a = np.array([2e38 + 2e38j, 1e-30 - 1e-30j, np.inf + 1j, -4, complex(-4, -0.0)], np.complex64)
    b = np.array([1e38 - 1e38j, 1e-25 + 1e-25j, 2, 1e-20j, 2j], np.complex64)
    size, quotient, root = hlo.compile(text, device="cpu")(a, b)
    np.testing.assert_allclose(size, np.abs(a.astype(np.complex128)).astype(np.float32), rtol=3e-7)
    np.testing.assert_allclose(quotient[:2], [2j, -1e-5j], rtol=3e-7, atol=1e-12)
    assert np.isinf(quotient[2])
    assert root[3:].tolist() == [2j, -2j]
    np.testing.assert_allclose(root[:3], np.sqrt(a[:3].astype(np.complex128)), rtol=3e-7)


EXTREMES = {
    # Intermediate squares, absolute values or exponentials of these leave the range of float32.
    "abs": [1e38 + 2e38j, 2e-38 + 1e-38j, 1e25 - 1e25j, 1e-25 + 1e-25j],
    "cbrt": [2.5e38 + 2.5e38j, 3e38 + 3e38j, 1e30 + 1e30j, 2e-38 + 1e-38j],
    "cosine": [0.5 + 89.2j, 1.5 - 89.2j, 1 + 89j],
    "exponential": [89 + 0.78j, 88.9 - 0.7j],
    "exponential_minus_one": [89 + 0.78j, 88.9 - 0.7j],
    "log": [2.5e38 + 2.5e38j, 3e38 - 3.4e38j, -3e38 + 3e38j, 1e30 + 1e-30j, 2e-38 + 2e-38j],
    "log_plus_one": [2.5e38 + 2.5e38j, 3e38 - 3.4e38j, -3e38 + 3e38j, 1e30 + 1e-30j],
    "rsqrt": [2.5e38 + 2.5e38j, 3e38 - 3.4e38j, 2e-38 + 2e-38j],
    "sign": [2.5e38 + 2.5e38j, 3e38 - 3.4e38j, -3e38 + 3e38j, 2e-38 + 2e-38j],
    "sine": [0.5 + 89.2j, 0.2 - 89.2j, 1 + 89j],
    "sqrt": [2.5e38 + 2.5e38j, -3e38 - 3.4e38j, 3e38 - 3.4e38j, 2e-38 + 2e-38j],
}
PAIRS_OF_EXTREMES = {
    "atan2": [(1e30 + 2e30j, 3e30 + 1e30j), (2e38 + 1e38j, 1e38 + 1e38j), (1e-30 + 2e-30j, 3e-30)],
    "divide": [
        *((3e38 + 3e38j, 3e38 - 3e38j), (1e-38 + 2e-38j, 2e-38 + 1e-38j)),
        (1e30j, 1e25 + 1e25j),
    ],
    "power": [(2.5e38 + 2.5e38j, 0.5 + 0.1j), (3e38 - 3.4e38j, -0.5), (3e38 + 3e38j, 0.25j)],
}


@pytest.mark.parametrize("name", [*EXTREMES, *PAIRS_OF_EXTREMES])
def test_complex_results_survive_overflow_of_intermediates(name):
    given = EXTREMES[name] if name in EXTREMES else list(zip(*PAIRS_OF_EXTREMES[name], strict=True))
    operands = np.atleast_2d(np.array(given, np.complex64))
    wide = operands.astype(np.complex128)
    count = operands.shape[1]
    type_, out = f"tensor<{count}xcomplex<f32>>", f"tensor<{count}xcomplex<f32>>"
    kind = type_
    if name == "abs":
        out = f"tensor<{count}xf32>"
        kind = f"({type_}) -> {out}"
    names = ["%a", "%b"][: len(operands)]
    text = f"""func.func @main({", ".join(f"{each}: {type_}" for each in names)}) -> {out} {{
      %0 = stablehlo.{name} {", ".join(names)} : {kind}
      return %0 : {out}
    }}"""
    (found,) = hlo.compile(text, device="cpu")(*operands)
    wanted = np.abs(*wide) if name == "abs" else {**UNARY, **BINARY}[name](*wide)
    # The float64 result is within the range of float32, so that float32 can hold it.
    assert np.isfinite(wanted.astype(np.complex64)).all()
    assert np.isfinite(found).all(), (found, wanted)
    tolerance = 2e-5 if name in ("power", "atan2") else 4e-6
    np.testing.assert_allclose(found, wanted, rtol=tolerance)


@pytest.mark.parametrize("name", ["abs", "log", "sqrt"])
def test_complex_results_agree_with_numpy_in_single_precision(name):
    a = np.array([2.5e38 + 2.5e38j, 1e38 - 3e38j, -2e38 + 1e-20j, 1e-20 - 3e38j], np.complex64)
    out = "tensor<4xf32>" if name == "abs" else "tensor<4xcomplex<f32>>"
    type_ = "tensor<4xcomplex<f32>>"
    kind = f"({type_}) -> {out}" if name == "abs" else type_
    text = f"""func.func @main(%a: {type_}) -> {out} {{
      %0 = stablehlo.{name} %a : {kind}
      return %0 : {out}
    }}"""
    with np.errstate(all="ignore"):
        wanted = {**UNARY, "abs": np.abs}[name](a)
    (found,) = hlo.compile(text, device="cpu")(a)
    np.testing.assert_allclose(found, wanted, rtol=2e-6)


@LEVELS
def test_movements_products_and_reductions_take_pairs(level):
    text = """
    func.func @main(%a: tensor<5x3xcomplex<f32>>, %b: tensor<3x4xcomplex<f32>>, %i: tensor<2x1xi32>)
        -> (tensor<5x4xcomplex<f32>>, tensor<4xcomplex<f32>>, tensor<6x4xcomplex<f32>>,
            tensor<5x4xi1>) {
      %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
      %c = stablehlo.constant dense<[(1.0, -2.0), (0.5, 0x7F800000), (0.0, 1.0), (-1.0, 0.0)]>
        : tensor<4xcomplex<f32>>
      %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<5x3xcomplex<f32>>, tensor<3x4xcomplex<f32>>) -> tensor<5x4xcomplex<f32>>
      %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0]
        : (tensor<5x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<4xcomplex<f32>>
      %d = stablehlo.add %s, %c : tensor<4xcomplex<f32>>
      %rows = "stablehlo.gather"(%p, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1],
        collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
        slice_sizes = array<i64: 1, 4>}
        : (tensor<5x4xcomplex<f32>>, tensor<2x1xi32>) -> tensor<2x4xcomplex<f32>>
      %more = stablehlo.pad %rows, %zero, low = [1, 0], high = [3, 0], interior = [0, 0]
        : (tensor<2x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<6x4xcomplex<f32>>
      %q = stablehlo.compare EQ, %p, %p : (tensor<5x4xcomplex<f32>>, tensor<5x4xcomplex<f32>>)
        -> tensor<5x4xi1>
      return %p, %d, %more, %q : tensor<5x4xcomplex<f32>>, tensor<4xcomplex<f32>>,
        tensor<6x4xcomplex<f32>>, tensor<5x4xi1>
    }"""
    a, b, places = draw_numbers(5, 3), draw_numbers(3, 4, seed=1), np.array([[4], [1]], np.int32)
    product, summed, moved, same = hlo.compile(text, level=level, device="cpu")(a, b, places)
    np.testing.assert_allclose(product, a @ b, rtol=1e-5, atol=1e-6)
    constant = np.array([1 - 2j, complex(0.5, np.inf), 1j, -1], np.complex64)
    np.testing.assert_allclose(summed, product.sum(0) + constant, rtol=1e-5, atol=1e-6)
    zeros = np.zeros((1, 4))
    np.testing.assert_array_equal(moved, np.concatenate([zeros, product[[4, 1]], *[zeros] * 3]))
    assert same.all()


def test_matrices_are_factored_and_solved():
    text = """
    func.func @main(%h: tensor<4x4xcomplex<f32>>, %b: tensor<4x2xcomplex<f32>>)
        -> (tensor<4x4xcomplex<f32>>, tensor<4x4xcomplex<f32>>, tensor<4x2xcomplex<f32>>) {
      %l = stablehlo.cholesky %h, lower = true : tensor<4x4xcomplex<f32>>
      %u = stablehlo.cholesky %h, lower = false : tensor<4x4xcomplex<f32>>
      %x = "stablehlo.triangular_solve"(%l, %b) {left_side = true, lower = true,
        unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>}
        : (tensor<4x4xcomplex<f32>>, tensor<4x2xcomplex<f32>>) -> tensor<4x2xcomplex<f32>>
      return %l, %u, %x : tensor<4x4xcomplex<f32>>, tensor<4x4xcomplex<f32>>,
        tensor<4x2xcomplex<f32>>
    }"""
    a, b = draw_numbers(4, 4), draw_numbers(4, 2, seed=1)
    hermitian = a @ a.conj().T + 4 * np.eye(4, dtype=np.complex64)
    lower, upper, solved = hlo.compile(text, device="cpu")(hermitian, b)
    expected = np.linalg.cholesky(hermitian.astype(np.complex128))
    np.testing.assert_allclose(lower, expected, atol=1e-5)
    np.testing.assert_allclose(upper, expected.conj().T, atol=1e-5)
    np.testing.assert_allclose(expected.conj().T @ solved, b, atol=1e-5)


def test_orders_of_complex_numbers_are_refused_by_name():
    text = """
    func.func @main(%x: tensor<2xcomplex<f32>>) -> tensor<2xi1> {
      %0 = stablehlo.compare LT, %x, %x
        : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
      return %0 : tensor<2xi1>
    }"""
    with pytest.raises(Unsupported, match="complex numbers have no order, got LT"):
        hlo.compile(text, device="cpu")
