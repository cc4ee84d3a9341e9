"""Products by register tiles equal single elements to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import hlo
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.plan import build_plan

# The shapes of operands and result, the number of batch axes, and the contracted axes.
CASES = {
    "whole tiles": ((8, 5), (5, 32), (8, 32), 0, 1, 0),
    "ragged": ((7, 3), (3, 37), (7, 37), 0, 1, 0),
    "transposed": ((6, 20), (19, 6), (20, 19), 0, 0, 1),
    "batched": ((2, 9, 4), (2, 4, 16), (2, 9, 16), 1, 2, 1),
    "outer axes": ((3, 5, 4), (4, 2, 18), (3, 5, 2, 18), 0, 2, 0),
    "one row": ((1, 6), (6, 33), (1, 33), 0, 1, 0),
    "matrix and vector": ((9, 6), (6,), (9,), 0, 1, 0),
}
TYPES = {"f32": np.float32, "f16": np.float16, "ui32": np.uint32}


def program(cases, element):
    """Return one function with the products of the cases, each with an epilogue."""
    parameters, body, types = [], [], []
    for number, (*shapes, batches, first, second) in enumerate(cases):
        left, right, result = (f"tensor<{'x'.join([*map(str, each), element])}>" for each in shapes)
        a, b, c, product, scaled, y = (f"%{stem}{number}" for stem in "abcpsy")
        parameters += [f"{a}: {left}", f"{b}: {right}", f"{c}: {result}"]
        batch = "batching_dims = [0] x [0], " if batches else ""
        body += [
            f"{product} = stablehlo.dot_general {a}, {b}, {batch}contracting_dims = "
            f"[{first}] x [{second}] : ({left}, {right}) -> {result}",
            f"{scaled} = stablehlo.multiply {product}, {c} : {result}",
            f"{y} = stablehlo.add {scaled}, {c} : {result}",
        ]
        types.append(result)
    results = ", ".join(f"%y{number}" for number in range(len(types)))
    head = f"func.func @main({', '.join(parameters)}) -> ({', '.join(types)})"
    return "\n".join([f"{head} {{", *body, f"return {results} : {', '.join(types)}", "}"])


@pytest.mark.parametrize("element", TYPES)
def test_tiles_change_no_bit(element):
    text = program(CASES.values(), element)
    random = np.random.default_rng(5)
    shapes = [shape for each in CASES.values() for shape in each[:3]]
    arguments = [(random.normal(size=each) * 9).astype(TYPES[element]) for each in shapes]
    plain, tiled = (hlo.compile(text, level=level)(*arguments) for level in (0, 2))
    for name, one, other in zip(CASES, plain, tiled, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)


def test_a_thread_loads_common_operand_elements_once():
    text = program([CASES["whole tiles"]], "f32")
    (kernel,) = build_plan(import_program(text), 2).iterate_kernels()
    assert kernel.threads == 4
    loop = kernel.text.partition("for (int")[2].partition("}")[0]
    assert loop.count("+=") == 64
    assert loop.count("= in0[") == 4
    assert loop.count("= in1[") == 16


def test_a_product_with_a_vector_has_a_thread_an_element():
    text = program([CASES["matrix and vector"]], "f32")
    (kernel,) = build_plan(import_program(text), 2).iterate_kernels()
    assert kernel.threads == 9


def test_a_long_epilogue_is_a_loop_over_the_tile_and_changes_no_bit():
    """Test whole tiles, and ragged ones whose last elements are computed twice."""
    for rows, columns in ((8, 32), (7, 37)):
        shape = f"tensor<{rows}x{columns}xf32>"
        lines = [f"%y0 = stablehlo.add %p, %p : {shape}"]
        for number in range(20):
            # Both are read repeatedly, always at the same index.
            lines.append(f"%z{number} = stablehlo.multiply %y{number}, %p : {shape}")
            lines.append(f"%y{number + 1} = stablehlo.subtract %z{number}, %y{number} : {shape}")
        body = "\n".join(lines)
        text = f"""
        func.func @main(%a: tensor<{rows}x3xf32>, %b: tensor<3x{columns}xf32>) -> {shape} {{
          %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
            : (tensor<{rows}x3xf32>, tensor<3x{columns}xf32>) -> {shape}
          {body}
          return %y20 : {shape}
        }}"""
        (kernel,) = build_plan(import_program(text), 2).iterate_kernels()
        assert kernel.text.count("out0[") == 1
        random = np.random.default_rng(2)
        given = [random.normal(size=each).astype(np.float32) for each in ((rows, 3), (3, columns))]
        plain, tiled = (hlo.compile(text, level=level, device="cpu")(*given) for level in (0, 2))
        np.testing.assert_array_equal(plain[0], tiled[0])


def test_a_product_with_transposed_uses_still_uses_tiles():
    """Heads of attention have such uses; without tiles, each element would be a thread."""
    text = """func.func @main(%a: tensor<8x5xf32>, %b: tensor<5x32xf32>) -> tensor<4x8x8xf32> {
      %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<8x5xf32>, tensor<5x32xf32>) -> tensor<8x32xf32>
      %r = stablehlo.reshape %p : (tensor<8x32xf32>) -> tensor<8x4x8xf32>
      %t = stablehlo.transpose %r, dims = [1, 0, 2] : (tensor<8x4x8xf32>) -> tensor<4x8x8xf32>
      return %t : tensor<4x8x8xf32>
    }"""
    product, moved = build_plan(import_program(text), 2).iterate_kernels()
    assert (product.threads, moved.threads) == (4, 256)


TWO_CONVOLUTIONS = """func.func @main(%x: tensor<1x6x6x8xf32>, %y: tensor<1x6x6x4xf32>,
    %w: tensor<3x3x8x32xf32>, %v: tensor<1x1x4x32xf32>) -> tensor<1x6x6x32xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {pad = [[1, 1], [1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x6x6x8xf32>, tensor<3x3x8x32xf32>) -> tensor<1x6x6x32xf32>
  %1 = stablehlo.convolution(%y, %v) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x6x6x4xf32>, tensor<1x1x4x32xf32>) -> tensor<1x6x6x32xf32>
  %2 = stablehlo.add %0, %1 : tensor<1x6x6x32xf32>
  return %2 : tensor<1x6x6x32xf32> }"""


def test_a_kernel_computes_one_convolution():
    plan = build_plan(import_program(TWO_CONVOLUTIONS), 3, device="cpu")
    first, second = plan.iterate_kernels()
    # The second kernel has the larger one, and reads the smaller one's result.
    assert [each.type.shape for each in first.inputs.values()] == [(1, 6, 6, 4), (1, 1, 4, 32)]
    assert len(second.inputs) == 3
    random = np.random.default_rng(3)
    shapes = [(1, 6, 6, 8), (1, 6, 6, 4), (3, 3, 8, 32), (1, 1, 4, 32)]
    x, y, w, v = (random.standard_normal(each).astype(np.float32) for each in shapes)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))).astype(np.float64)
    expected = np.einsum("bhwi,io->bhwo", y.astype(np.float64), v[0, 0])
    for row in range(3):
        for column in range(3):
            part = padded[:, row : row + 6, column : column + 6]
            expected += np.einsum("bhwi,io->bhwo", part, w[row, column])
    (found,) = hlo.compile(TWO_CONVOLUTIONS, level=3, device="cpu")(x, y, w, v)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
