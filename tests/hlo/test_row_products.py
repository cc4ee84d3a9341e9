"""Rows and the product that reads them become one kernel."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import hlo
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.executable import Executable
from metalbench.hlo.runtime.plan import build_plan


def program(outer, width, columns, *, kind="f32", body="", returns="%p", more=""):
    """Return a program: rows of `x` with mean 0, times a matrix; `body` continues from `%p`."""
    of_outer = "".join(f"{each}x" for each in outer)
    full, one = f"tensor<{of_outer}{width}x{kind}>", f"tensor<{of_outer}{kind}>"
    matrix, made = f"tensor<{width}x{columns}x{kind}>", f"tensor<{of_outer}{columns}x{kind}>"
    dims, rank = ", ".join(map(str, range(len(outer)))), len(outer)
    types = {"%p": made, "%n": full, "%g": made, "%c": full}
    results = ", ".join(types[each] for each in returns.split(", "))
    return f"""func.func @main(%x: {full}, %w: {matrix}, %r: {made}) -> ({results}) {{
      %zero = stablehlo.constant dense<0.0> : tensor<{kind}>
      %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [{rank}]
        : ({full}, tensor<{kind}>) -> {one}
      %many = stablehlo.constant dense<{width}.0> : {one}
      %mean = stablehlo.divide %s, %many : {one}
      %b = stablehlo.broadcast_in_dim %mean, dims = [{dims}] : ({one}) -> {full}
      %c = stablehlo.subtract %x, %b : {full}
      %q = stablehlo.multiply %c, %c : {full}
      %z = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [{rank}]
        : ({full}, tensor<{kind}>) -> {one}
      %zb = stablehlo.broadcast_in_dim %z, dims = [{dims}] : ({one}) -> {full}
      %n = stablehlo.divide %c, %zb : {full}
      {more.format(matrix=matrix)}
      %p = stablehlo.dot_general %n, %w, contracting_dims = [{rank}] x [0]
        : ({full}, {matrix}) -> {made}
      {body.format(made=made)}
      return {returns} : {results}
    }}"""


GELU = """%t = stablehlo.tanh %p : {made}
      %h = stablehlo.multiply %p, %t : {made}
      %g = stablehlo.add %h, %r : {made}"""


def plan_text(text, device="metal"):
    return build_plan(import_program(text), 3, device=device)


def kernels(text, device="metal"):
    return [each.name.rpartition("_")[0] for each in plan_text(text, device).iterate_kernels()]


def check(text, given, bound=2e-5):
    """Compare a GPU's plan, on the cpu device, with unfused operations."""
    plain = hlo.compile(text, level=0, device="cpu")(*given)
    for one, other in zip(plain, Executable(plan_text(text), device="cpu")(*given), strict=True):
        np.testing.assert_allclose(other, one, bound, bound * np.nanmax(np.abs(one)))


@pytest.mark.parametrize(
    ("outer", "width", "columns", "kind"),
    [
        ((16,), 32, 17, "f32"),
        ((40,), 100, 300, "f32"),
        ((2, 3, 9), 64, 128, "f32"),
        ((20,), 1024, 33, "f32"),
        ((33,), 64, 129, "f16"),
    ],
)
@pytest.mark.parametrize(("body", "returns"), [("", "%p"), (GELU, "%g"), (GELU, "%g, %c")])
def test_rows_and_their_product_are_one_kernel(outer, width, columns, kind, body, returns):
    text = program(outer, width, columns, kind=kind, body=body, returns=returns)
    assert kernels(text) == ["row_product"]
    draw, dtype = np.random.default_rng(1), {"f32": np.float32, "f16": np.float16}[kind]
    shapes = [(*outer, width), (width, columns), (*outer, columns)]
    given = [draw.normal(size=each).astype(dtype) for each in shapes]
    check(text, given, {"f32": 2e-5, "f16": 2e-2}[kind])


def test_rows_without_a_number_spoil_no_others():
    text = program((40,), 100, 30)
    draw = np.random.default_rng(3)
    given = [draw.normal(size=each).astype("f4") for each in [(40, 100), (100, 30), (40, 30)]]
    given[0][7] = 1.0  # no deviation: 0 / 0
    check(text, given)


def test_row_products_are_not_fused_if_it_is_slower():
    assert kernels(program((64,), 64, 64), "cpu") == ["rows", "dot_general"]


@pytest.mark.parametrize(
    "text",
    [
        program((15,), 64, 64),  # too few rows for a tile
        program((64,), 4128, 64),  # rows that are too long to be read again
        program((64,), 64, 15),  # too few columns
        program((64,), 64, 64, returns="%p, %n"),  # rows that are needed themselves
    ],
)
def test_rows_without_a_precondition_stay_two_kernels(text):
    assert kernels(text) == ["rows", "dot_general"]


def test_a_matrix_computed_from_the_rows_is_not_fused():
    text = program((64,), 64, 64, more="%w2 = stablehlo.tanh %n : {matrix}").replace(
        "%n, %w,", "%n, %w2,"
    )
    assert "row_product" not in kernels(text)


def test_other_operands_of_the_epilogue_may_follow_the_rows():
    late = """%e = stablehlo.dot_general %r, %r, contracting_dims = [1] x [1]
        : ({made}, {made}) -> {made}
      %g = stablehlo.add %p, %e : {made}"""
    text = program((64,), 64, 64, body=late, returns="%g")
    assert sorted(kernels(text)) == ["dot_general", "row_product"]
    given = [np.random.default_rng(2).normal(size=(64, 64)).astype("f4") for _ in range(3)]
    check(text, given, 2e-3)
