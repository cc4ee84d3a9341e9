"""Operations on splats are folded to the values that kernels compute."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import hlo
from metalbench.hlo.passes.canonicalization import fold_splats
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.plan import build_plan

SCALED = """
func.func @main(%x: tensor<4x64x{type}>) -> tensor<4x64x{type}> {{
  %width = stablehlo.constant dense<48.0> : tensor<{type}>
  %root = stablehlo.sqrt %width : tensor<{type}>
  %third = stablehlo.constant dense<3.0> : tensor<{type}>
  %odd = stablehlo.divide %root, %third : tensor<{type}>
  %all = stablehlo.broadcast_in_dim %odd, dims = [] : (tensor<{type}>) -> tensor<4x64x{type}>
  %minus = stablehlo.negate %all : tensor<4x64x{type}>
  %y = stablehlo.divide %x, %minus : tensor<4x64x{type}>
  return %y : tensor<4x64x{type}>
}}"""


@pytest.mark.parametrize(
    ("name", "type_"), [("f32", np.float32), ("f16", np.float16), ("bf16", "bfloat16")]
)
def test_constant_folding_agrees_with_kernels(name, type_):
    text = SCALED.format(type=name)
    x = np.random.default_rng(1).normal(size=(4, 64)).astype(np.float32)
    if type_ == "bfloat16":
        import ml_dtypes

        type_ = ml_dtypes.bfloat16
    plain, folded = (hlo.compile(text, level=n, device="cpu")(x.astype(type_)) for n in (0, 2))
    np.testing.assert_array_equal(*(each[0].astype(np.float32) for each in (plain, folded)))


def test_a_chain_of_known_numbers_leaves_one_operation():
    block = import_program(SCALED.format(type="f32"))
    fold_splats(block)
    assert {each.name for each in block.operations} == {"constant", "divide"}
    assert [each.name for each in build_plan(block, 2).iterate_kernels()] == ["divide_1"]


def test_a_returned_broadcast_is_not_folded():
    block = import_program("""
    func.func @main() -> tensor<1000xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %all = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<1000xf32>
      return %all : tensor<1000xf32>
    }""")
    fold_splats(block)
    assert [each.name for each in block.operations] == ["constant", "broadcast_in_dim"]


def test_a_splat_shared_by_two_norms_is_not_a_result_of_the_first():
    """A row length that both norms broadcast must not become a result of the first kernel."""
    norm = """
      %s{n} = stablehlo.reduce({x} init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<8x64xf32>, tensor<f32>) -> tensor<8xf32>
      %b{n} = stablehlo.broadcast_in_dim %s{n}, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>
      %m{n} = stablehlo.divide %b{n}, %widths : tensor<8x1xf32>
      %a{n} = stablehlo.broadcast_in_dim %m{n}, dims = [0, 1]
        : (tensor<8x1xf32>) -> tensor<8x64xf32>
      %y{n} = stablehlo.subtract {x}, %a{n} : tensor<8x64xf32>"""
    made = build_plan(
        import_program(f"""
    func.func @main(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %width = stablehlo.constant dense<64.0> : tensor<f32>
      %widths = stablehlo.broadcast_in_dim %width, dims = [] : (tensor<f32>) -> tensor<8x1xf32>
      {norm.format(n=0, x="%x")}
      %p = stablehlo.dot_general %y0, %w, contracting_dims = [1] x [0]
        : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
      {norm.format(n=1, x="%p")}
      return %y1 : tensor<8x64xf32>
    }}"""),
        3,
        device="cpu",  # elsewhere rows and product are one kernel
    )
    first, _, second = made.iterate_kernels()
    assert (len(first.outputs), len(second.inputs)) == (1, 1)
