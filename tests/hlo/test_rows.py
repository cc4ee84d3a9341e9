"""Fusion of rows: the groups, and their results."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from oracle import evaluate
from row_programs import row_program

from metalbench import hlo
from metalbench.hlo.passes.row_fusion import fuse_rows
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.plan import build_plan


def format_reducer(join, axes, full, kind, one):
    return f"stablehlo.{join} across dimensions = [{axes}] : ({full}, tensor<{kind}>) -> {one}"


def softmax(shape, kind="f32", axes=1, low="0xFF800000"):
    """Return a softmax over the last `axes` axes."""
    rank = len(shape)
    inner = ", ".join(str(each) for each in range(rank - axes, rank))
    outer = ", ".join(str(each) for each in range(rank - axes))
    full = f"tensor<{'x'.join(str(each) for each in shape)}x{kind}>"
    one = f"tensor<{''.join(f'{each}x' for each in shape[: rank - axes])}{kind}>"
    maximum = format_reducer("maximum", inner, full, kind, one)
    return f"""func.func @main(%x: {full}) -> {full} {{
      %low = stablehlo.constant dense<{low}> : tensor<{kind}>
      %zero = stablehlo.constant dense<0.0> : tensor<{kind}>
      %m = stablehlo.reduce(%x init: %low) applies {maximum}
      %mb = stablehlo.broadcast_in_dim %m, dims = [{outer}] : ({one}) -> {full}
      %d = stablehlo.subtract %x, %mb : {full}
      %e = stablehlo.exponential %d : {full}
      %s = stablehlo.reduce(%e init: %zero) applies {format_reducer("add", inner, full, kind, one)}
      %sb = stablehlo.broadcast_in_dim %s, dims = [{outer}] : ({one}) -> {full}
      %r = stablehlo.divide %e, %sb : {full}
      return %r : {full}
    }}"""


def kernels(text):
    return [
        each.name.rpartition("_")[0]
        for each in build_plan(import_program(text), 3).iterate_kernels()
    ]


@pytest.mark.parametrize(
    ("shape", "axes"), [((5, 32), 1), ((3, 100), 1), ((2, 3, 6, 50), 2), ((2, 5000), 1), ((40,), 1)]
)
def test_a_softmax_is_one_kernel_without_a_loop(shape, axes):
    text = softmax(shape, axes=axes)
    assert kernels(text) == ["rows"]
    program = hlo.compile(text, level=3, device="cpu")
    assert "for (" not in program.source.partition("kernel void")[2]
    x = np.random.default_rng(0).normal(size=shape).astype("f4")
    wide, last = x.astype("f8"), tuple(range(-axes, 0))
    wide = np.exp(wide - wide.max(last, keepdims=True))
    np.testing.assert_allclose(program(x)[0], wide / wide.sum(last, keepdims=True), rtol=2e-6)


# A sum of ones in float16 stays at 2048, and in bfloat16 at 256.
@pytest.mark.parametrize(
    ("kind", "low", "cols"), [("f16", "0xFC00", 4096), ("bf16", "0xFF80", 512)]
)
def test_halves_add_up_in_float(kind, low, cols):
    x = np.zeros((2, cols), "f2" if kind == "f16" else ml_dtypes.bfloat16)
    (found,) = hlo.compile(softmax(x.shape, kind, low=low), level=3, device="cpu")(x)
    assert (found.astype("f4") == 1 / cols).all()


@pytest.mark.parametrize(("join", "low"), [("maximum", "0xFF800000"), ("minimum", "0x7F800000")])
def test_extrema_of_a_row_know_the_sign_of_zero(join, low):
    full, one = "tensor<4x40xf32>", "tensor<4xf32>"
    text = f"""func.func @main(%x: {full}) -> {full} {{
      %low = stablehlo.constant dense<{low}> : tensor<f32>
      %m = stablehlo.reduce(%x init: %low) applies {format_reducer(join, 1, full, "f32", one)}
      %mb = stablehlo.broadcast_in_dim %m, dims = [0] : ({one}) -> {full}
      %r = stablehlo.multiply %mb, %x : {full}
      return %r : {full}
    }}"""
    assert kernels(text) == ["rows"]
    # A one next to the searched number, so that the product has its sign.
    x = np.zeros((4, 40), "f4")
    x[1] = -0.0
    x[2, 7], x[3, 33] = -0.0, -0.0
    x[:, 39] = -1.0 if join == "maximum" else 1.0
    (found,) = hlo.compile(text, level=3, device="cpu")(x)
    extreme = found[:, 39] * x[0, 39]
    negative = [False, True, False, False] if join == "maximum" else [False, True, True, True]
    assert np.signbit(extreme).tolist() == negative


def test_a_nan_makes_its_row_and_no_other():
    x = np.zeros((3, 70), "f4")
    x[1, 69] = np.nan
    (found,) = hlo.compile(softmax(x.shape), level=3, device="cpu")(x)
    assert np.isnan(found).all(1).tolist() == [False, True, False]
    np.testing.assert_allclose(found[::2], 1 / 70, rtol=1e-6)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("dense<0.0>", "dense<1.0>"),  # no identity of a sum
        ("4x64xf32", "4x31xf32"),  # short
        ("4x64xf32", "4x9000xf32"),  # long
    ],
)
def test_operations_without_a_precondition_are_in_no_group(old, new):
    text = softmax((4, 64)).replace(old, new)
    block = import_program(text)
    fuse_rows(block)
    (group,) = [each for each in block.operations if each.name == "rows"] or [None]
    inside = [each.name for each in group.regions[0].operations] if group else []
    # With another initial value the maximum's group ends where the sum begins.
    assert inside.count("reduce") <= (1 if "1.0" in new else 0)


def test_a_reduction_of_columns_is_in_no_group():
    text = softmax((64, 64)).replace("dimensions = [1]", "dimensions = [0]")
    assert "rows" not in kernels(text.replace("dims = [0]", "dims = [1]"))


def test_a_residual_is_added_once_and_given_too():
    full, one = "tensor<6x96xf32>", "tensor<6xf32>"
    text = f"""func.func @main(%x: {full}, %y: {full}, %w: tensor<96x96xf32>) -> ({full}, {full}) {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %h = stablehlo.add %x, %y : {full}
      %q = stablehlo.multiply %h, %h : {full}
      %s = stablehlo.reduce(%q init: %zero) applies {format_reducer("add", 1, full, "f32", one)}
      %r = stablehlo.rsqrt %s : {one}
      %b = stablehlo.broadcast_in_dim %r, dims = [0] : ({one}) -> {full}
      %n = stablehlo.multiply %h, %b : {full}
      %p = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0]
        : ({full}, tensor<96x96xf32>) -> {full}
      %g = stablehlo.add %h, %p : {full}
      %t = stablehlo.reduce(%g init: %zero) applies {format_reducer("add", 1, full, "f32", one)}
      %c = stablehlo.broadcast_in_dim %t, dims = [0] : ({one}) -> {full}
      %o = stablehlo.subtract %g, %c : {full}
      return %o, %h : {full}, {full}
    }}"""
    # The product reads the first group, and the second group reads the product.
    assert kernels(text) == ["rows", "dot_general", "rows"]
    generator = np.random.default_rng(1)
    x, y, w = (generator.normal(size=each).astype("f4") for each in ((6, 96), (6, 96), (96, 96)))
    output, h = hlo.compile(text, level=3, device="cpu")(x, y, w)
    wide = x.astype("f8") + y
    g = wide + wide / np.sqrt((wide**2).sum(1, keepdims=True)) @ w
    np.testing.assert_allclose(h, wide, rtol=1e-6)
    np.testing.assert_allclose(output, g - g.sum(1, keepdims=True), rtol=1e-4, atol=1e-4)


def test_a_few_random_programs_of_rows():
    check(range(6))


@pytest.mark.slow
def test_many_random_programs_of_rows():
    check(range(6, 106))


def check(seeds):
    drawn = [row_program(seed) for seed in seeds]
    groups = 0
    for (text, arguments), expected in zip(drawn, evaluate(drawn), strict=True):
        program = hlo.compile(text, level=3, device="cpu")
        groups += program.source.count("kernel void rows_")
        for got, wanted in zip(program(*arguments), expected, strict=True):
            np.testing.assert_array_equal(got, wanted.reshape(got.shape), err_msg=text)
    assert groups >= len(drawn) / 2
