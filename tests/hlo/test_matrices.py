"""Matrix products by tiles as on GPUs, on the cpu device and as PTX."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from test_tiles import program

from metalbench import hlo
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.executable import Executable
from metalbench.hlo.runtime.plan import build_plan

# As in test_tiles: shapes of operands and result, batches, and contracted axes.
CASES = {
    "whole tiles": ((64, 32), (32, 64), (64, 64), 0, 1, 0),
    "ragged": ((37, 19), (19, 45), (37, 45), 0, 1, 0),
    "transposed": ((21, 33), (34, 21), (33, 34), 0, 0, 1),
    "batched": ((3, 40, 17), (3, 17, 18), (3, 40, 18), 1, 2, 1),
    "outer axes": ((3, 11, 40), (40, 2, 18), (3, 11, 2, 18), 0, 2, 0),
    "large tiles": ((640, 16), (16, 832), (640, 832), 0, 1, 0),
}
TYPES = {"f32": (np.float32, 1e-6), "f16": (np.float16, 2e-3), "bf16": (ml_dtypes.bfloat16, 2e-2)}


def check(text, given, bound):
    """Compare a GPU's plan with unfused operations; return its kernels."""
    made = build_plan(import_program(text), 2, device="metal")
    plain = hlo.compile(text, level=0, device="cpu")(*given)
    for pair in zip(plain, Executable(made, device="cpu")(*given), strict=True):
        one, other = (each.astype(np.float32) for each in pair)
        np.testing.assert_allclose(other, one, bound, bound * np.abs(one).max(initial=0.0))
    return list(made.iterate_kernels())


def draw_operands(shapes, dtype):
    random = np.random.default_rng(5)
    return [random.normal(size=each).astype(dtype) for each in shapes]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("element", TYPES)
def test_tiled_products_equal_unfused_ones(element, case):
    dtype, bound = TYPES[element]
    operands = draw_operands(CASES[case][:3], dtype)
    (kernel,) = check(program([CASES[case]], element), operands, bound)
    assert "metalbench::Product" in kernel.text


def test_products_of_one_program_are_separate_kernels():
    cases = [CASES["ragged"], CASES["transposed"]]
    shapes = [shape for each in cases for shape in each[:3]]
    kernels = check(program(cases, "f32"), draw_operands(shapes, np.float32), 1e-6)
    assert all("metalbench::Product" in each.text for each in kernels)
    assert len(kernels) == len(cases)


def test_operands_are_computed_by_their_source():
    text = """func.func @main(%a: tensor<24x40xf16>, %b: tensor<24x20xf32>) -> tensor<40x20xf32> {
      %h = stablehlo.convert %a : (tensor<24x40xf16>) -> tensor<24x40xf32>
      %t = stablehlo.transpose %h, dims = [1, 0] : (tensor<24x40xf32>) -> tensor<40x24xf32>
      %n = stablehlo.negate %b : tensor<24x20xf32>
      %p = stablehlo.dot_general %t, %n, contracting_dims = [1] x [0]
        : (tensor<40x24xf32>, tensor<24x20xf32>) -> tensor<40x20xf32>
      return %p : tensor<40x20xf32>
    }"""
    first, second = draw_operands([(24, 40)], np.float16) + draw_operands([(24, 20)], np.float32)
    kernels = check(text, [first, second], 1e-5)
    assert "metalbench::Product" in kernels[-1].text


@pytest.mark.parametrize("shapes", [((15, 40), (40, 40)), ((40, 15), (15, 40)), ((40, 0), (0, 40))])
def test_small_products_use_no_matrix_tiles(shapes):
    case = (*shapes, (shapes[0][0], shapes[1][1]), 0, 1, 0)
    kernels = check(program([case], "f32"), draw_operands([*case[:3]], np.float32), 1e-5)
    assert not any("metalbench::Product" in each.text for each in kernels)


def test_integers_and_processors_have_no_tiles_of_matrices():
    case = CASES["whole tiles"]
    for element, device in (("ui32", "metal"), ("f32", "cpu")):
        (kernel,) = build_plan(
            import_program(program([case], element)), 2, device=device
        ).iterate_kernels()
        assert "metalbench::Product" not in kernel.text
