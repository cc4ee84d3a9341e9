"""Double precision: functions against NumPy's long double, conversions, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from metalbench import hlo
from metalbench._core import CompileError
from metalbench.errors import Unsupported
from metalbench.hlo.codegen.library import INCLUDE
from metalbench.hlo.ir import ELEMENT_TYPES
from metalbench.hlo.operations import OPERATIONS
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.plan import build_plan, format_source
from metalbench.msl import engine
from metalbench.msl.frontend.standards import DOUBLE_MACRO

LONG = np.longdouble
NEEDS_LONG_DOUBLE = pytest.mark.skipif(
    np.finfo(LONG).nmant < 63, reason="needs a long double with more bits than double"
)
COUNT = 4000
# References, and bounds of the error in units of the last place; one half is exact rounding.
UNARY = {
    "cbrt": (np.cbrt, 0.7),
    "ceil": (np.ceil, 0),
    "cosine": (np.cos, 0.85),
    "exponential": (np.exp, 1),
    "exponential_minus_one": (np.expm1, 1),
    "floor": (np.floor, 0),
    "log": (np.log, 0.85),
    "log_plus_one": (np.log1p, 1),
    "logistic": (lambda x: 1 / (1 + np.exp(-x)), 1.5),
    "round_nearest_even": (np.rint, 0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1.5),
    "sine": (np.sin, 0.85),
    "sqrt": (np.sqrt, 0.5),
    "tan": (np.tan, 1),
    "tanh": (np.tanh, 2),
}
BINARY = {
    "add": (np.add, 0.5),
    "atan2": (np.arctan2, 1.5),
    "divide": (np.divide, 0.5),
    "multiply": (np.multiply, 0.5),
    "power": (np.power, 1),
    "remainder": (np.fmod, 0),
    "subtract": (np.subtract, 0.5),
}
# Exact, or tested below: long double has no other bits for them.
OTHERS = {"abs", "maximum", "minimum", "negate", "round_nearest_afz", "sign"}


def draw_numbers(seed):
    """Return numbers of all magnitudes, near one, near multiples of pi / 2, and special ones."""
    generator = np.random.default_rng(seed)
    signs = generator.choice([-1.0, 1.0], COUNT)
    special = np.array(
        [
            *(0, np.inf, np.nan, 1, 0.5, 1.5, 2.5, 3, 5e-324, 2.0**-1022, 1.7976931348623157e308),
            *(709.8, 745.2, 746, 0.49999999999999994, 2.0**52 + 0.5, 1e22, 2.0**-27, 2.0**53),
        ]
    )
    drawn = [
        np.ldexp(generator.uniform(1, 2, COUNT), generator.integers(-1074, 1024, COUNT)) * signs,
        generator.uniform(-3, 3, COUNT),
        generator.uniform(-750, 750, COUNT),
        1 + generator.uniform(-1e-3, 1e-3, COUNT),
        generator.integers(-1000000, 1000000, COUNT) * (np.pi / 2),
        generator.integers(-20, 20, COUNT) * 0.5,
        special,
        -special,
    ]
    return np.concatenate(drawn)


def build_program(names, size):
    type_ = f"tensor<{size}xf64>"
    lines = [
        f"%{number} = stablehlo.{name} {'%a, %b' if name in BINARY else '%a'} : {type_}"
        for number, name in enumerate(names)
    ]
    results = ", ".join(f"%{number}" for number in range(len(names)))
    return f"""func.func @main(%a: {type_}, %b: {type_}) -> ({", ".join([type_] * len(names))}) {{
      {chr(10).join(lines)}
      return {results} : {", ".join([type_] * len(names))}
    }}"""


def measure_errors(got, wanted):
    """Return the errors in units of the last place; infinity where only one is finite."""
    nearest = wanted.astype(np.float64)
    both_nan = np.isnan(got) & np.isnan(wanted)
    last_place = np.spacing(np.where(np.isfinite(nearest), np.abs(nearest), 1))
    errors = np.abs(got.astype(LONG) - wanted) / last_place
    errors = np.where(np.isfinite(errors), errors, np.inf)
    # Beyond the largest number the nearest one is infinite.
    return np.where(both_nan | ((got == nearest) & ~np.isfinite(nearest)), 0, errors)


@NEEDS_LONG_DOUBLE
def test_functions_have_the_precision_of_double():
    listed = {name for name, each in OPERATIONS.items() if each.float_msl}
    assert {*UNARY, *BINARY} | OTHERS == listed
    a, b = draw_numbers(0), np.random.default_rng(1).permutation(draw_numbers(2))
    names = [*BINARY, *UNARY]
    found = hlo.compile(build_program(names, a.size), device="cpu")(a, b)
    with np.errstate(all="ignore"):
        for name, got in zip(names, found, strict=True):
            function, bound = (BINARY if name in BINARY else UNARY)[name]
            given = (a, b) if name in BINARY else (a,)
            wanted = function(*(each.astype(LONG) for each in given))
            errors = measure_errors(got, wanted)
            worst = errors.argmax()
            assert errors[worst] <= bound, (name, [each[worst] for each in given], got[worst])
            zeros = (got == 0) & (wanted == 0)
            assert (np.signbit(got) == np.signbit(wanted))[zeros].all(), name


@NEEDS_LONG_DOUBLE
def test_angles_of_any_size_keep_their_precision():
    # These doubles are nearest to multiples of pi / 2 (J.-M. Muller, Elementary functions, 1997).
    hard = [6381956970095103 * 2.0**797, 6411027962775774 * 2.0**-48, 5.319372648326541e255]
    generator = np.random.default_rng(0)
    drawn = [generator.uniform(-(10.0**power), 10.0**power, 2000) for power in (6, 9, 20, 300)]
    x = np.concatenate([hard, *drawn])
    names = ["sine", "cosine", "tan"]
    found = hlo.compile(build_program(names, x.size), device="cpu")(x, x)
    for got, function in zip(found, (np.sin, np.cos, np.tan), strict=True):
        assert measure_errors(got, function(x.astype(LONG))).max() <= 1


def test_rounding_signs_and_extremes_are_exact():
    x = np.array([0.0, -0.0, 0.5, -0.5, 2.5, -2.5, 0.49999999999999994, 2.0**52 + 1, np.inf])
    text = build_program(["round_nearest_afz", "sign", "abs", "negate"], x.size)
    rounded, signs, sizes, negated = hlo.compile(text, device="cpu")(x, x)
    np.testing.assert_array_equal(rounded, [0, -0.0, 1, -1, 3, -3, 0, 2.0**52 + 1, np.inf])
    np.testing.assert_array_equal(np.signbit(rounded), np.signbit(x))
    np.testing.assert_array_equal(signs, np.sign(x))
    np.testing.assert_array_equal((sizes, negated), (np.abs(x), -x))
    pair = np.array([[0.0, -0.0, np.nan, 1, -1], [-0.0, 0.0, 1, np.nan, 1]])
    text = build_program(["add"], 5).replace("stablehlo.add", "stablehlo.maximum")
    (most,) = hlo.compile(text, device="cpu")(*pair)
    (least,) = hlo.compile(text.replace("maximum", "minimum"), device="cpu")(*pair)
    np.testing.assert_array_equal(most, [0, 0, np.nan, np.nan, 1])
    np.testing.assert_array_equal(least, [0, 0, np.nan, np.nan, -1])
    assert not np.signbit(most[:2]).any()
    assert np.signbit(least[:2]).all()


@pytest.mark.parametrize(("name", "kind"), [("f32", np.float32), ("f64", np.float64)])
def test_reduced_precision_without_mantissa_has_no_nan(name, kind):
    text = f"""func.func @main(%x: tensor<4x{name}>) -> (tensor<4x{name}>, tensor<4x{name}>) {{
      %0 = stablehlo.reduce_precision %x, format = e5m0 : tensor<4x{name}>
      %1 = stablehlo.reduce_precision %x, format = e5m10 : tensor<4x{name}>
      return %0, %1 : tensor<4x{name}>, tensor<4x{name}>
    }}"""
    x = np.array([np.nan, 1.6, 65520, 1 + 2.0**-11], kind)
    bare, half = hlo.compile(text, device="cpu")(x)
    assert bare.tolist() == [np.inf, 2, np.inf, 1]
    np.testing.assert_array_equal(half, [np.nan, kind(1.6).astype(np.float16), np.inf, 1])


def convert(array, target, source="f64"):
    shape = f"tensor<{array.size}x"
    text = f"""func.func @main(%x: {shape}{source}>) -> {shape}{target}> {{
      %0 = stablehlo.convert %x : ({shape}{source}>) -> {shape}{target}>
      return %0 : {shape}{target}>
    }}"""
    return hlo.compile(text, device="cpu")(array)[0]


@pytest.mark.parametrize("type_", ["f16", "bf16", "f32"])
def test_doubles_are_rounded_once(type_):
    generator = np.random.default_rng(0)
    steps = {"f16": 10, "bf16": 7, "f32": 23}[type_]
    # Close to the middle between two numbers: a rounding to float would lose the side.
    middle = 1 + (2 * generator.integers(0, 2**steps, 100) + 1) * 2.0 ** -(steps + 1)
    x = np.concatenate([middle + 2.0**-50, middle - 2.0**-50, middle, [1e300, -np.inf, np.nan]])
    got = convert(x, type_)
    number = np.float64(2.0**steps)
    wanted = np.rint(x * number) / number
    np.testing.assert_array_equal(got[:300].astype(np.float64), wanted[:300])
    assert got[300] == np.inf
    assert got[301] == -np.inf
    assert np.isnan(np.float64(got[302]))


def test_conversions_to_integers_truncate_and_saturate():
    x = np.array([1.9, -1.9, 2.0**62 + 1024, 2.0**63, -(2.0**63), 1e300, -1e300, np.nan])
    big = 2**63 - 1
    assert convert(x, "i64").tolist() == [1, -1, 2**62 + 1024, big, -(2**63), big, -(2**63), 0]
    assert convert(x, "ui64").tolist() == [1, 0, 2**62 + 1024, 2**63, 0, 2**64 - 1, 0, 0]
    assert convert(x, "i8").tolist() == [1, -1, 127, 127, -128, 127, -128, 0]
    assert convert(x, "i1").tolist() == [True] * 8
    # The real part decides, as in the reference interpreter.
    pairs = np.array([1j, 1, 0, -1 + 1j])
    assert convert(pairs, "i1", "complex<f64>").tolist() == [False, True, False, True]
    assert convert(pairs, "f64", "complex<f64>").tolist() == [0, 1, 0, -1]
    back = np.array([2**53 + 1, -(2**62) - 1, 7], np.int64)
    np.testing.assert_array_equal(convert(back, "f64", "i64"), back.astype(np.float64))
    np.testing.assert_array_equal(
        convert(back.view(np.uint64), "f64", "ui64"), back.view(np.uint64).astype(np.float64)
    )


@pytest.mark.parametrize("level", [0, 2, 3])
def test_reductions_products_and_sorts_use_double(level):
    generator = np.random.default_rng(0)
    x, y = generator.standard_normal((7, 300)), generator.standard_normal((300, 9))
    # Sums of these lose all digits in float.
    x[:, 0] += 1e9
    text = """
    func.func @main(%x: tensor<7x300xf64>, %y: tensor<300x9xf64>)
        -> (tensor<7xf64>, tensor<7x9xf64>, tensor<7x300xf64>, tensor<7x300xf64>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f64>
      %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<7x300xf64>, tensor<f64>) -> tensor<7xf64>
      %dot = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
        : (tensor<7x300xf64>, tensor<300x9xf64>) -> tensor<7x9xf64>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<7xf64>) -> tensor<7x300xf64>
      %share = stablehlo.divide %x, %sums : tensor<7x300xf64>
      %sorted = "stablehlo.sort"(%x) <{dimension = 1 : i64}> ({
        ^bb0(%a: tensor<f64>, %b: tensor<f64>):
          %less = stablehlo.compare LT, %a, %b, TOTALORDER
            : (tensor<f64>, tensor<f64>) -> tensor<i1>
          stablehlo.return %less : tensor<i1>
      }) : (tensor<7x300xf64>) -> tensor<7x300xf64>
      return %sum, %dot, %share, %sorted
        : tensor<7xf64>, tensor<7x9xf64>, tensor<7x300xf64>, tensor<7x300xf64>
    }"""
    total, product, share, ordered = hlo.compile(text, level=level, device="cpu")(x, y)
    wanted = x.astype(LONG).sum(1).astype(np.float64)
    np.testing.assert_allclose(total, wanted, rtol=1e-14)
    np.testing.assert_allclose(product, (x.astype(LONG) @ y).astype(np.float64), rtol=1e-13)
    np.testing.assert_allclose(share, x / wanted[:, None], rtol=1e-14)
    np.testing.assert_array_equal(ordered, np.sort(x, axis=1))


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize(
    ("source", "target"),
    [("f32", "f64"), ("f8E5M2", "f64"), ("complex<f32>", "complex<f64>"), ("i32", "f64")],
)
def test_products_of_other_types_are_not_rounded_before_the_sum(source, target, level):
    (given, kind) = (ELEMENT_TYPES[each].storage for each in (source, target))
    drawn = [np.random.default_rng(seed).standard_normal((12, 12, 2)) * 9 for seed in (0, 1)]
    pairs = [each @ [1, 1j] if given.kind == "c" else each[..., 0] for each in drawn]
    x, y = (each.astype(given) for each in pairs)
    text = f"""
    func.func @main(%x: tensor<12x12x{source}>, %y: tensor<12x12x{source}>)
        -> tensor<12x12x{target}> {{
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
        : (tensor<12x12x{source}>, tensor<12x12x{source}>) -> tensor<12x12x{target}>
      return %0 : tensor<12x12x{target}>
    }}"""
    (found,) = hlo.compile(text, level=level, device="cpu")(x, y)
    assert found.dtype == kind
    wanted = x.astype(kind) @ y.astype(kind)
    assert np.abs(found - wanted).max() < 1e-12


def test_constants_keep_all_bits():
    values = [0.1, 1e-300, -0.0, 5e-324, 1.7976931348623157e308, np.inf, -np.inf, 1 / 3]
    words = ", ".join(f"0x{int(np.float64(each).view(np.uint64)):016X}" for each in values)
    text = f"""func.func @main() -> (tensor<8xf64>, tensor<2xf64>, tensor<3xcomplex<f64>>) {{
      %0 = stablehlo.constant dense<[{words}]> : tensor<8xf64>
      %1 = stablehlo.constant dense<0.1> : tensor<2xf64>
      %2 = stablehlo.constant dense<[(0.1, 1.0e-300), (0.0, -0.0), (1.0, 0x3FF0000000000001)]>
        : tensor<3xcomplex<f64>>
      %3 = stablehlo.negate %1 : tensor<2xf64>
      return %0, %3, %2 : tensor<8xf64>, tensor<2xf64>, tensor<3xcomplex<f64>>
    }}"""
    for level in (0, 3):
        found, tenth, pairs = hlo.compile(text, level=level, device="cpu")()
        np.testing.assert_array_equal(found.view(np.uint64), np.array(values).view(np.uint64))
        assert tenth.tolist() == [-0.1, -0.1]
        assert pairs.tolist() == [0.1 + 1e-300j, complex(0, -0.0), complex(1, 1 + 2.0**-52)]


PROGRAM = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf64>
  %1 = stablehlo.sine %0 : tensor<4xf64>
  %2 = stablehlo.convert %1 : (tensor<4xf64>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}"""


def test_metal_refuses_double_with_the_operation_and_what_to_do():
    message = (
        r"\[stablehlo.convert\] .*: tensor<4xf64>: Metal's language has no double; "
        "convert to f32 .* or run on the device cpu or cuda"
    )
    with pytest.raises(Unsupported, match=message):
        build_plan(import_program(PROGRAM), 2, device="metal")
    for device in ("cpu", "cuda"):
        assert "shlo::sin" in format_source(build_plan(import_program(PROGRAM), 2, device=device))
    text = PROGRAM.replace("f32", "complex<f64>").replace("xf64", "xcomplex<f64>")
    with pytest.raises(Unsupported, match="argument 0: tensor<4xcomplex<f64>>: Metal's language"):
        build_plan(import_program(text), 2, device="metal")


def test_kernels_with_double_compile_for_gpus():
    source = format_source(build_plan(import_program(PROGRAM), 2, device="cuda"))
    program = engine.parse(source, "<hlo>", {DOUBLE_MACRO: "1"}, [str(INCLUDE)])
    (name,) = program.functions
    code = Path(engine.build_for_gpu(program, name, fast_math=False).path).read_text()
    assert "fma.rn.f64" in code or "mul.rn.f64" in code


def test_only_the_compiler_option_allows_double():
    text = "#include <metal_stdlib>\nkernel void f(device double* x) { x[0] = 0.1L; }"
    assert engine.parse(text, macros={DOUBLE_MACRO: "1"}).functions == ["f"]
    assert engine.build(engine.parse(text, macros={DOUBLE_MACRO: "1"}), "f").name == "f"
    for source in (text, f"#define {DOUBLE_MACRO} 1\n{text}"):
        with pytest.raises(CompileError, match="'double' is not supported in Metal"):
            engine.build(engine.parse(source), "f")
