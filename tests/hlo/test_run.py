"""Programs on a device: values, control flow, and arguments that do not fit."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from oracle import evaluate

from metalbench import hlo
from metalbench.errors import DeclarationError, DispatchError
from metalbench.hlo.codegen.elementwise import EXPRESSIONS, format_arithmetic

LEVELS = pytest.mark.parametrize("level", [0, 2, 3])
BINARY = {
    "f32": "add atan2 divide maximum minimum multiply power remainder subtract",
    "i32": "add and divide maximum minimum multiply or power remainder shift_left "
    "shift_right_arithmetic shift_right_logical subtract xor",
    "i1": "add and maximum minimum multiply or xor",
}
UNARY = {
    "f32": "abs cbrt ceil cosine exponential exponential_minus_one floor log log_plus_one logistic "
    "negate round_nearest_afz round_nearest_even rsqrt sign sine sqrt tan tanh",
    "i32": "abs count_leading_zeros negate not popcnt sign",
    "i1": "not",
}
BINARY |= dict.fromkeys(("i8", "ui8", "i64"), BINARY["i32"]) | {"f16": BINARY["f32"]}
UNARY |= {"i8": UNARY["i32"], "i64": UNARY["i32"], "f16": UNARY["f32"]}
UNARY["ui8"] = "count_leading_zeros not popcnt"
NUMPY = {"f32": "f4", "f16": "f2", "i32": "i4", "i8": "i1", "ui8": "u1", "i64": "i8", "i1": "?"}
LOOP = """
func.func @main(%n: tensor<i32>, %x: tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<3xf32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<3xf32>
    cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %j = stablehlo.add %i, %one : tensor<i32>
         %w = "stablehlo.case"(%i) ({
           %a = stablehlo.add %v, %x : tensor<3xf32>
           stablehlo.return %a : tensor<3xf32> }, {
           %b = stablehlo.multiply %v, %half : tensor<3xf32>
           stablehlo.return %b : tensor<3xf32> }) : (tensor<i32>) -> tensor<3xf32>
         stablehlo.return %j, %w : tensor<i32>, tensor<3xf32> }
  return %r#0, %r#1 : tensor<i32>, tensor<3xf32>
}"""


def operands(kind):
    """Return pairs of difficult numbers. No divisor is zero, which the oracle does not support."""
    if kind == "i1":
        return np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    type_ = np.dtype(NUMPY[kind])
    if type_.kind == "f":
        first = [1.5, -2.5, 0.0, -0.0, np.inf, -np.inf, np.nan, 1e-3, 7.0, 0.5, -0.5, 2.0]
        second = [-0.5, 3.0, -0.0, 0.0, 1.0, np.inf, 1.0, 1e-3, 2.0, np.nan, 2.5, -np.inf]
        return np.array(first, type_), np.array(second, type_)
    ends = np.iinfo(type_)
    first = [1, 2, 5, ends.max, ends.min, 100, 7, 3, ends.max, 0]
    second = [1, 7, 3, 2, 1, 9, type_.itemsize * 8, 5, ends.max, 100]
    return np.array(first, type_), np.array(second, type_)


@pytest.mark.parametrize("kind", sorted(BINARY))
def test_elementwise_operations_are_the_reference_interpreters(kind):
    arguments = operands(kind)
    count, type_ = len(arguments[0]), f"tensor<{len(arguments[0])}x{kind}>"
    operations = [f"{each} %a, %b" for each in BINARY[kind].split()]
    operations += [f"{each} %a" for each in UNARY[kind].split()]
    # One combined result, since each result needs a kernel.
    whole, names = f"tensor<{len(operations) * count}x{kind}>", range(len(operations))
    results = ", ".join(f"%{n}" for n in names)
    text = "\n".join(
        [
            f"func.func @main(%a: {type_}, %b: {type_}) -> {whole} {{",
            *(f"%{n} = stablehlo.{each} : {type_}" for n, each in enumerate(operations)),
            f"%all = stablehlo.concatenate {results}, dim = 0 : "
            f"({', '.join([type_] * len(operations))}) -> {whole}",
            f"return %all : {whole}",
            "}",
        ]
    )
    ((wanted_all,),) = evaluate([(text, arguments)])
    (got_all,) = hlo.compile(text, device="cpu")(*arguments)
    rows = zip(operations, got_all.reshape(-1, count), wanted_all.reshape(-1, count), strict=True)
    for name, got, wanted in rows:
        tolerance = {"f32": 2e-6, "f16": 1e-3}.get(kind, 0)
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance / 4, err_msg=name)
        if kind in ("f32", "f16"):
            finite = ~np.isnan(got)
            signs = np.signbit(got)[finite], np.signbit(wanted)[finite]
            np.testing.assert_array_equal(*signs, err_msg=name)


def test_every_elementwise_operation_is_tested():
    tested = {each for words in (*BINARY.values(), *UNARY.values()) for each in words.split()}
    assert tested == {name for name, each in EXPRESSIONS.items() if each is format_arithmetic}


def test_division_by_zero_and_its_overflow_are_xlas():
    text = """
    func.func @main(%a: tensor<3xi32>, %b: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>) {
      %0 = stablehlo.divide %a, %b : tensor<3xi32>
      %1 = stablehlo.remainder %a, %b : tensor<3xi32>
      return %0, %1 : tensor<3xi32>, tensor<3xi32>
    }"""
    low = -(2**31)
    arguments = np.array([7, low, low], np.int32), np.array([0, -1, 0], np.int32)
    quotient, rest = hlo.compile(text, device="cpu")(*arguments)
    assert quotient.tolist() == [-1, low, -1]
    assert rest.tolist() == [7, 0, low]


@LEVELS
def test_loops_and_cases_are_decided_by_the_host(level):
    x = np.array([1, 2, 3], np.float32)
    run = hlo.compile(LOOP, level=level, device="cpu")
    count, found = run(np.array(3, np.int32), x)
    assert count == 3
    assert found.tolist() == [0.5, 1.0, 1.5]  # (x + x) / 2 / 2: the last case for what is beyond
    assert run(np.array(0, np.int32), x)[1].tolist() == x.tolist()


@LEVELS
def test_a_slice_starts_and_steps_as_numbers_of_the_program_say(level):
    text = """
    func.func @main(%x: tensor<3x8xf32>, %a: tensor<2xi32>, %b: tensor<2xi32>, %c: tensor<2xi32>)
        -> tensor<2x3xf32> {
      %y = stablehlo.real_dynamic_slice %x, %a, %b, %c
        : (tensor<3x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x3xf32>
      return %y : tensor<2x3xf32>
    }"""
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    places = [np.array(each, np.int32) for each in ([1, 1], [3, 8], [1, 3])]
    (found,) = hlo.compile(text, level=level, device="cpu")(x, *places)
    np.testing.assert_array_equal(found, x[1:3, 1:8:3])


@LEVELS
def test_a_stable_sort_of_pairs_and_a_scatter_with_repeats(level):
    text = """
    func.func @main(%k: tensor<2x5xi32>, %v: tensor<2x5xi32>, %i: tensor<4x1xi64>)
        -> (tensor<2x5xi32>, tensor<2x5xi32>, tensor<3xi32>) {
      %s:2 = "stablehlo.sort"(%k, %v) <{dimension = 1 : i64, is_stable = true}> ({
        ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
          %p = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
      }) : (tensor<2x5xi32>, tensor<2x5xi32>) -> (tensor<2x5xi32>, tensor<2x5xi32>)
      %zero = stablehlo.constant dense<10> : tensor<3xi32>
      %u = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
      %r = "stablehlo.scatter"(%zero, %i, %u) <{scatter_dimension_numbers =
        #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
        index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<i32>, %b: tensor<i32>):
          %t = stablehlo.subtract %a, %b : tensor<i32>
          stablehlo.return %t : tensor<i32>
      }) : (tensor<3xi32>, tensor<4x1xi64>, tensor<4xi32>) -> tensor<3xi32>
      return %s#0, %s#1, %r : tensor<2x5xi32>, tensor<2x5xi32>, tensor<3xi32>
    }"""
    keys = np.array([[1, 3, 1, 2, 3], [0, 0, 0, 9, 0]], np.int32)
    values = np.arange(10, dtype=np.int32).reshape(2, 5)
    places = np.array([[2], [2], [2**40], [0]])
    found = hlo.compile(text, level=level, device="cpu")(keys, values, places)
    assert found[0].tolist() == [[3, 3, 2, 1, 1], [9, 0, 0, 0, 0]]
    assert found[1].tolist() == [[1, 4, 3, 0, 2], [8, 5, 6, 7, 9]]
    assert found[2].tolist() == [6, 10, 7]  # what lies out of bounds is left out


def test_cholesky_and_a_triangular_solve_of_bfloat16_and_float():
    text = """
    func.func @main(%a: tensor<2x3x3xf32>, %b: tensor<2x3x1xf32>)
        -> (tensor<2x3x3xf32>, tensor<2x3x1xf32>) {
      %l = stablehlo.cholesky %a, lower = true : tensor<2x3x3xf32>
      %x = "stablehlo.triangular_solve"(%l, %b) <{left_side = true, lower = true,
        unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}>
        : (tensor<2x3x3xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
      return %l, %x : tensor<2x3x3xf32>, tensor<2x3x1xf32>
    }"""
    generator = np.random.default_rng(0)
    root = generator.standard_normal((2, 3, 3))
    matrix = (root @ root.transpose(0, 2, 1) + 3 * np.eye(3)).astype(np.float32)
    side = generator.standard_normal((2, 3, 1)).astype(np.float32)
    lower, solved = hlo.compile(text, device="cpu")(matrix, side)
    expected = np.linalg.cholesky(matrix.astype(np.float64))
    np.testing.assert_allclose(lower, expected, atol=1e-5)
    np.testing.assert_allclose(solved, np.linalg.solve(expected, side), atol=1e-5)


def test_mlx_arrays_give_mlx_arrays():
    text = """func.func @main(%a: tensor<3xbf16>) -> tensor<3xbf16> {
      %0 = stablehlo.add %a, %a : tensor<3xbf16>
      return %0 : tensor<3xbf16> }"""
    (found,) = hlo.compile(text, device="cpu")(mx.array([1.0, 2.5, -3.0], mx.bfloat16))
    assert found.dtype == mx.bfloat16
    assert found.tolist() == [2.0, 5.0, -6.0]


def test_wrong_arguments_are_refused_with_their_number():
    run = hlo.compile(LOOP, device="cpu")
    x = np.zeros(3, np.float32)
    with pytest.raises(DispatchError, match=r"argument 1: expected float32 \(3,\), got float64"):
        run(np.array(1, np.int32), x.astype(np.float64))
    with pytest.raises(DispatchError, match="expected 2 arguments, got 1"):
        run(x)
    with pytest.raises(DeclarationError, match="level: expected 0, 2, 3, got 1"):
        hlo.compile(LOOP, level=1)
    with pytest.raises(DeclarationError, match="program: expected text"):
        hlo.compile(17)


@LEVELS
def test_a_product_as_it_was_written_once(level):
    program = """func.func @main(%a: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<3xf32> {
      %0 = stablehlo.dot %a, %b : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3xf32>
      return %0 : tensor<3xf32>
    }"""
    a, b = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(hlo.compile(program, level=level)(a, b)[0], a @ b)


@LEVELS
@pytest.mark.parametrize("kind", ["f32", "f16"])
def test_normalisation_by_statistics_that_are_given(level, kind):
    program = """func.func @main(%x: tensor<2x3x4xT>, %s: tensor<3xT>, %o: tensor<3xT>,
                                 %m: tensor<3xT>, %v: tensor<3xT>) -> tensor<2x3x4xT> {
      %0 = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v)
        {epsilon = 0.001 : f32, feature_index = 1 : i64}
        : (tensor<2x3x4xT>, tensor<3xT>, tensor<3xT>, tensor<3xT>, tensor<3xT>) -> tensor<2x3x4xT>
      return %0 : tensor<2x3x4xT>
    }""".replace("T>", f"{kind}>")
    random = np.random.default_rng(2)
    x = random.normal(size=(2, 3, 4)).astype(NUMPY[kind])
    scale, offset, mean, variance = (random.random((4, 3)) + 0.1).astype(NUMPY[kind])
    found = hlo.compile(program, level=level)(x, scale, offset, mean, variance)[0]
    s, o, m, v = (each.astype(float)[:, None] for each in (scale, offset, mean, variance))
    expected = (x.astype(float) - m) / np.sqrt(v + 0.001) * s + o
    np.testing.assert_allclose(found, expected, rtol=1e-6 if kind == "f32" else 2e-3, atol=1e-6)
