"""StableHLO programs as tasks: other shapes, float64 in place of all floats, MLX or XLA."""

from __future__ import annotations

import re

import numpy as np
import pytest

from metalbench.errors import DeclarationError, TaskError
from metalbench.hlo.bench.task_program import StableHloProgram, XlaForm, has_mlx_form

mx = pytest.importorskip("mlx.core")
jax = pytest.importorskip("jax")

SOFTMAX = """
func.func @main(%x: tensor<16x128xf32>) -> tensor<16x128xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1]
      : (tensor<16x128xf32>, tensor<f32>) -> tensor<16xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<16xf32>) -> tensor<16x128xf32>
  %d = stablehlo.subtract %x, %b : tensor<16x128xf32>
  %e = stablehlo.exponential %d : tensor<16x128xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<16x128xf32>, tensor<f32>) -> tensor<16xf32>
  %t = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<16xf32>) -> tensor<16x128xf32>
  %y = stablehlo.divide %e, %t : tensor<16x128xf32>
  return %y : tensor<16x128xf32>
}
"""
MEAN = """
func.func @main(%x: tensor<16x128xf32>) -> tensor<16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<1.280000e+02> : tensor<16xf32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<16x128xf32>, tensor<f32>) -> tensor<16xf32>
  %y = stablehlo.divide %s, %n : tensor<16xf32>
  return %y : tensor<16xf32>
}
"""
SORTED = """
func.func @main(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %c = stablehlo.constant dense<[0x3F80, 2.0, 3.0, -1.5, 0.0, 0x7F80, 1.0, 1.0]> : tensor<8xbf16>
  %h = stablehlo.constant dense<"0x803F00400040"> : tensor<3xbf16>
  %b = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<8xbf16>) -> tensor<4x8xbf16>
  %y = stablehlo.minimum %x, %b : tensor<4x8xbf16>
  %z = "stablehlo.sort"(%y) ({
  ^bb0(%l: tensor<bf16>, %r: tensor<bf16>):
    %less = stablehlo.compare LT, %l, %r : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) {dimension = 1 : i64} : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %z : tensor<4x8xbf16>
}
"""


@pytest.fixture
def program(tmp_path):
    def create(text: str) -> StableHloProgram:
        path = tmp_path / "p.mlir"
        path.write_text(text, "utf-8")
        return StableHloProgram(path)

    return create


def softmax(x):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("shape", [(16, 128), (5, 33)])
def test_exact_is_float64_at_every_shape(program, shape) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    got = program(SOFTMAX).exact(x)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, softmax(x), rtol=1e-14)


def test_a_program_with_an_mlx_form_runs_on_mlx(program) -> None:
    x = np.random.default_rng(0).normal(size=(5, 33)).astype(np.float32)
    of = program(SOFTMAX)
    assert has_mlx_form(of) == ""
    np.testing.assert_allclose(np.array(of(mx.array(x))), softmax(x), rtol=1e-5)


def test_a_program_without_an_mlx_form_runs_on_xla(program) -> None:
    of = program(SORTED)
    assert "stablehlo.sort" in has_mlx_form(of)
    x = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    bound = [1.0, 2.0, 3.0, -1.5, 0.0, np.inf, 1.0, 1.0]
    expected = np.sort(np.minimum(x, bound), axis=1)
    np.testing.assert_array_equal(of.exact(x), expected)
    np.testing.assert_array_equal(np.array(of.by_xla(mx.array(x))), expected.astype(np.float32))
    form = XlaForm(of)
    form.load({"x": x}, {"x": -x})
    form(3)
    np.testing.assert_array_equal(form.outputs({"x": x})[0], expected.astype(np.float32))


def test_constants_keep_their_values_in_float64(program) -> None:
    text = program(SORTED).text_at([(4, 8)], "f64")
    assert "bf16" not in text
    assert "0x3FF0000000000000, 2.0" in text
    assert "0x7FF0000000000000" in text
    bits = re.search(r'dense<"0x([0-9A-F]+)">', text)
    assert bits is not None
    np.testing.assert_array_equal(np.frombuffer(bytes.fromhex(bits[1]), "<f8"), [1.0, 2.0, 2.0])


@pytest.mark.parametrize(("text", "fixed"), [(SOFTMAX, set()), (MEAN, {128})])
def test_fixed_extents_are_those_that_are_numbers_too(program, text, fixed) -> None:
    assert program(text).fixed_extents == fixed


@pytest.mark.parametrize("number", ["7.812500e-03", "127.0", "11.3137085", "0.0883883476"])
def test_fixed_extents_know_what_follows_from_an_extent(program, number: str) -> None:
    assert program(MEAN.replace("1.280000e+02", number)).fixed_extents == {128}


def test_one_extent_cannot_become_two(program) -> None:
    text = SOFTMAX.replace("128", "16")
    with pytest.raises(DeclarationError, match="the extent 16 stands for 8 and 9"):
        program(text).text_at([(8, 9)], "f32")


def test_text_without_a_float64_form_is_a_task_error(program) -> None:
    text = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xi32> {
  %y = stablehlo.bitcast_convert %x : (tensor<8xf32>) -> tensor<8xi32>
  return %y : tensor<8xi32>
}
"""
    with pytest.raises(TaskError, match="with f64 in place of its floats"):
        program(text).exact(np.zeros(8))


def test_bytecode_is_refused_with_a_remedy(tmp_path) -> None:
    path = tmp_path / "p.mlir"
    path.write_bytes(b"ML\xefR\xff")
    with pytest.raises(DeclarationError, match="stablehlo-translate --deserialize"):
        _ = StableHloProgram(path).text
