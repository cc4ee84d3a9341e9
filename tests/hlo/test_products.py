"""Products with vectors and convolutions, whose threads share elements of their operands."""

from __future__ import annotations

import json

import numpy as np
import pytest

from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.executable import Executable

# Operands, contracted axes and batches of products of a matrix and a vector.
VECTORS = {
    "matrix vector": ("33x100", "100", "[1] x [0]", "33", "ij,j->i"),
    "vector matrix": ("100", "100x33", "[0] x [0]", "33", "j,ji->i"),
    "rows of the right": ("100", "7x100", "[0] x [1]", "7", "j,ij->i"),
    "columns of the left": ("70x9", "70", "[0] x [0]", "9", "ji,j->i"),
    "batches": ("3x5x64", "3x64", "[2] x [1]", "3x5", "bij,bj->bi"),
    "batches of columns": ("3x64", "3x64x48", "[1] x [1]", "3x48", "bj,bji->bi"),
    "three axes": ("2x3x64", "64", "[2] x [0]", "2x3", "abj,j->ab"),
    "scalar": ("64", "64", "[0] x [0]", "", "j,j->"),
}


def make_type(shape, kind="f32"):
    return f"tensor<{shape}x{kind}>" if shape else f"tensor<{kind}>"


@pytest.mark.parametrize("kind", ["f32", "f16"])
@pytest.mark.parametrize("level", [0, 2, 3])
@pytest.mark.parametrize("case", VECTORS)
def test_products_with_vectors(case, level, kind):
    left, right, axes, result, formula = VECTORS[case]
    batching = "batching_dims = [0] x [0], " if formula[0] == "b" else ""
    a, b, c = (make_type(each, kind) for each in (left, right, result))
    text = f"""func.func @main(%a: {a}, %b: {b}) -> ({c}, {c}) {{
      %p = stablehlo.dot_general %a, %b, {batching}contracting_dims = {axes} : ({a}, {b}) -> {c}
      %q = stablehlo.negate %p : {c}
      %r = stablehlo.add %q, %q : {c}
      return %p, %r : {c}, {c} }}"""
    random = np.random.default_rng(3)
    given = [
        random.normal(size=[int(size) for size in each.split("x")]).astype(
            {"f32": np.float32, "f16": np.float16}[kind]
        )
        for each in (left, right)
    ]
    found, doubled = Executable(import_program(text), level=level, device="cpu")(*given)
    expected = np.einsum(formula, *(each.astype(np.float64) for each in given))
    tolerance = {"f32": 1e-5, "f16": 2e-3}[kind]
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * 20)
    np.testing.assert_allclose(doubled, -2 * expected, rtol=tolerance, atol=tolerance * 40)


# Operands, contracted axes, batches and formulas of products that are packed on a CPU.
MATRICES = {
    "plain": ("64x64", "64x80", "[1] x [0]", "ij,jk->ik"),
    "partial tiles": ("66x48", "48x93", "[1] x [0]", "ij,jk->ik"),
    "right transposed": ("65x48", "78x48", "[1] x [1]", "ij,kj->ik"),
    "left transposed": ("96x100", "96x47", "[0] x [0]", "ji,jk->ik"),
    "batches": ("3x40x64", "3x96x64", "[2] x [2]", "bij,bkj->bik"),
    "two depths": ("6x8x64", "6x8x96", "[0, 1] x [0, 1]", "jki,jkn->in"),
    "outer axes": ("3x40x48", "48x4x64", "[2] x [0]", "aij,jmn->aimn"),
    "many rows": ("1036x96", "96x48", "[1] x [0]", "ij,jk->ik"),
}


@pytest.mark.parametrize("kind", ["f32", "f16"])
@pytest.mark.parametrize("case", MATRICES)
def test_packed_products(case, kind):
    left, right, axes, formula = MATRICES[case]
    batching = "batching_dims = [0] x [0], " if formula[0] == "b" else ""
    sizes = dict(zip(formula.split(",")[0], left.split("x"), strict=True))
    sizes |= dict(zip(formula.split("->")[0].split(",")[1], right.split("x"), strict=True))
    result = "x".join(sizes[each] for each in formula.split("->")[1])
    a, b, c = (make_type(each, kind) for each in (left, right, result))
    # The values before the product are stored, those after it are computed in its kernel.
    text = f"""func.func @main(%a: {a}, %b: {b}) -> {c} {{
      %m = stablehlo.negate %a : {a}
      %n = stablehlo.abs %b : {b}
      %p = stablehlo.dot_general %m, %n, {batching}contracting_dims = {axes} : ({a}, {b}) -> {c}
      %q = stablehlo.add %p, %p : {c}
      return %q : {c} }}"""
    random = np.random.default_rng(4)
    given = [
        random.normal(size=[int(size) for size in each.split("x")]).astype(
            {"f32": np.float32, "f16": np.float16}[kind]
        )
        for each in (left, right)
    ]
    program = Executable(import_program(text), level=2, device="cpu")
    assert "pack_panels" in program.source
    first, second = (each.astype(np.float64) for each in given)
    expected = -2 * np.einsum(formula, first, np.abs(second))
    tolerance = {"f32": 1e-5, "f16": 2e-3}[kind]
    (found,) = program(*given)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * 40)


def test_products_that_do_not_repay_packing_stay():
    for left, right in [("8x64", "64x64"), ("64x8", "8x64"), ("64x32", "32x32"), ("64x64", "64x9")]:
        rows, columns = left.split("x")[0], right.split("x")[1]
        a, b, c = (make_type(each) for each in (left, right, f"{rows}x{columns}"))
        text = f"""func.func @main(%a: {a}, %b: {b}) -> {c} {{
          %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({a}, {b}) -> {c}
          return %p : {c} }}"""
        assert "packed" not in Executable(import_program(text), level=3, device="cpu").source


def test_a_part_of_a_product_with_an_epilogue_uses_tiles():
    a, c, part = (make_type(each) for each in ("96x96", "96x96", "40x96"))
    text = f"""func.func @main(%a: {a}, %b: {a}) -> {part} {{
      %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({a}, {a}) -> {c}
      %q = stablehlo.add %p, %a : {c}
      %r = stablehlo.slice %q [7:47, 0:96] : ({c}) -> {part}
      return %r : {part} }}"""
    program = Executable(import_program(text), level=2, device="cpu")
    names = [each.name.rpartition("_")[0] for each in program.plan.iterate_kernels()]
    assert names == ["pack_panels", "add", "slice"]
    left, right = np.random.default_rng(2).normal(size=(2, 96, 96)).astype(np.float32)
    (found,) = program(left, right)
    expected = (left.astype(np.float64) @ right + left)[7:47]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


CONVOLUTIONS = {
    "features last": ("b01f", "01io", "b01f", {}),
    "features first": ("bf01", "oi01", "bf01", {}),
    "mixed": ("b01f", "oi01", "bf01", {"stride": "2, 1", "rhs_dilate": "1, 2"}),
    "spread": ("b01f", "01io", "b01f", {"lhs_dilate": "2, 3"}),
    "reversed": ("b01f", "01io", "b01f", {"reverse": "true, false"}),
}


@pytest.mark.parametrize("padding", ["[[1, 1], [0, 2]]", "[[0, 0], [0, 0]]", "[[-1, 1], [2, -1]]"])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions_are_those_without_tiles(case, padding):
    of_image, of_kernel, of_result, options = CONVOLUTIONS[case]
    sizes = {"b": 2, "f": 5, "i": 5, "o": 19}
    image, kernel = (
        [{**sizes, "0": spatial, "1": spatial + 2}[each] for each in axes]
        for axes, spatial in ((of_image, 9), (of_kernel, 2))
    )
    window = ", ".join([f"pad = {padding}", *(f"{k} = [{v}]" for k, v in options.items())])
    a, b = ("x".join(map(str, each)) for each in (image, kernel))
    forms = "x".join(f"[{', '.join(each)}]" for each in (of_image, of_kernel))

    pads = np.array(json.loads(padding))
    result = []
    for axis in range(2):
        spread, dilation, stride = (
            json.loads(f"[{options.get(each, '1, 1')}]")[axis]
            for each in ("lhs_dilate", "rhs_dilate", "stride")
        )
        size = (image[of_image.index(str(axis))] - 1) * spread + 1 + pads[axis].sum()
        width = (kernel[of_kernel.index(str(axis))] - 1) * dilation + 1
        result.append((size - width) // stride + 1)
    named = {"b": 2, "f": 19, "0": result[0], "1": result[1]}
    c = "x".join(str(named[each]) for each in of_result)
    text = f"""func.func @main(%x: tensor<{a}xf32>, %w: tensor<{b}xf32>) -> tensor<{c}xf32> {{
      %r = stablehlo.convolution(%x, %w) dim_numbers = {forms}->[{", ".join(of_result)}],
        window = {{{window}}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
        : (tensor<{a}xf32>, tensor<{b}xf32>) -> tensor<{c}xf32>
      return %r : tensor<{c}xf32> }}"""
    random = np.random.default_rng(4)
    given = [random.normal(size=each).astype(np.float32) for each in (image, kernel)]
    plain, tiled = (
        Executable(import_program(text), level=level, device="cpu")(*given)[0] for level in (0, 2)
    )
    np.testing.assert_allclose(tiled, plain, rtol=1e-5, atol=1e-5)
