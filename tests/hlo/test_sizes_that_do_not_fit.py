"""Operands of equal rank and different sizes are refused, never broadcast or read out of bounds."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import evaluate

from metalbench import hlo
from metalbench.errors import DeclarationError, Unsupported
from metalbench.hlo.program import import_program

SCALARS = "^bb0(%x: tensor<f32>, %y: tensor<f32>):"
ADD = f"{SCALARS}\n%s = stablehlo.add %x, %y : tensor<f32>\nstablehlo.return %s : tensor<f32>"
LESS = (
    "%s = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "stablehlo.return %s : tensor<i1>"
)
PAIRS = "^bb0(%x: tensor<f32>, %y: tensor<f32>, %v: tensor<f32>, %w: tensor<f32>):"
ROWS = (
    "{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
    "start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}"
)
ROWS_TO = (
    "{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
    "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}"
)
NORMALIZED = "{epsilon = 0.001 : f32, feature_index = 1 : i64}"
IMAGES = (
    "{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, "
    "batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
)
# An operation with its attributes and regions, the types of its operands, and of its result.
BROADCASTS = [
    ('"add"', "1x4xf32 3x4xf32", "3x4xf32"),
    ('"power"', "3x4xf32 1x4xf32", "3x4xf32"),
    ('"add"', "f32 4xf32", "4xf32"),
    ('"abs"', "4xf32", "3xf32"),
    ('"convert"', "4xf32", "3xf16"),
    ('"tanh"', "4xf32", "4xf16"),
    (
        '"compare" {comparison_direction = #stablehlo<comparison_direction LT>}',
        "1x4xf32 3x4xf32",
        "3x4xi1",
    ),
    ('"select"', "1xi1 4xf32 4xf32", "4xf32"),
    ('"select"', "4xi1 1xf32 4xf32", "4xf32"),
    ('"clamp"', "1xf32 4xf32 4xf32", "4xf32"),
    ('"clamp"', "4xf32 1xf32 4xf32", "4xf32"),
    (f'"map" ({{ {ADD} }}) {{dimensions = array<i64: 0>}}', "3xf32 4xf32", "4xf32"),
    ('"dot"', "3x4xf32 5x2xf32", "3x2xf32"),
    (f'"batch_norm_inference" {NORMALIZED}', "2x3xf32 2xf32 3xf32 3xf32 3xf32", "2x3xf32"),
    (f'"convolution" {IMAGES}', "1x4x4x2xf32 3x3x3x5xf32", "1x2x2x5xf32"),
    (f'"convolution" {IMAGES}', "1x4x4x3xf32 3x3x3x5xf32", "1x4x4x5xf32"),
    ('"dynamic_slice" {slice_sizes = array<i64: 5>}', "4xf32 i32", "5xf32"),
    ('"dynamic_update_slice"', "4xf32 5xf32 i32", "4xf32"),
    (f'"gather" {ROWS}', "3x4xf32 2x1xi32", "2x5xf32"),
    (f'"scatter" ({{ {ADD} }}) {ROWS_TO}', "3x4xf32 2x1xi32 2x5xf32", "3x4xf32"),
    ('"cholesky" {lower = true}', "2x3xf32", "2x3xf32"),
    (
        '"triangular_solve" {left_side = true, lower = true, unit_diagonal = false, '
        "transpose_a = #stablehlo<transpose NO_TRANSPOSE>}",
        "3x3xf32 4x2xf32",
        "4x2xf32",
    ),
    ('"concatenate" {dimension = 0 : i64}', "2x3xf32 2x4xf32", "4x3xf32"),
    ('"reshape"', "6xf32", "3x3xf32"),
    ('"broadcast_in_dim" {broadcast_dimensions = array<i64: 0>}', "2xf32", "3x4xf32"),
    ('"bitcast_convert"', "4xf32", "3xi32"),
    (
        f'"reduce_window" ({{ {ADD} }}) {{window_dimensions = array<i64: 2>}}',
        "4xf32 f32",
        "4xf32",
    ),
    (
        f'"select_and_scatter" ({{ {SCALARS} {LESS} }}, {{ {ADD} }}) '
        "{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}",
        "4xf32 3xf32 f32",
        "4xf32",
    ),
    (f'"sort" ({{ {PAIRS} {LESS} }}) {{dimension = 0 : i64}}', "3xf32 4xf32", "3xf32 4xf32"),
]


def program(form, operands, results):
    name, _, rest = form.partition(" ")
    types = [f"tensor<{each}>" for each in operands.split()]
    answers = [f"tensor<{each}>" for each in results.split()]
    arguments = ", ".join(f"%a{number}: {each}" for number, each in enumerate(types))
    used = ", ".join(f"%a{number}" for number in range(len(types)))
    return (
        f"func.func @main({arguments}) -> {answers[0]} {{\n"
        f'%r:{len(answers)} = "stablehlo.{name[1:-1]}"({used}) {rest} : '
        f"({', '.join(types)}) -> ({', '.join(answers)})\n"
        f"return %r#0 : {answers[0]} }}"
    )


@pytest.mark.parametrize(("form", "operands", "results"), BROADCASTS)
def test_inconsistent_sizes_are_refused(form, operands, results):
    # The error is about the operation at this place, not about its syntax.
    with pytest.raises(DeclarationError, match=r'not a StableHLO program(.|\n)*"-":2:8: ') as found:
        import_program(program(form, operands, results))
    assert "requires attribute" not in str(found.value)


CONSTANT = "%s = stablehlo.constant dense<{}> : tensor<{}xi32>"
SHAPED = "%r = stablehlo.dynamic_reshape %a, %s : (tensor<6xf32>, tensor<2xi32>)"


@pytest.mark.parametrize(
    "body",
    [
        # The types agree while one is dynamic; the constant gives another size.
        f"""{CONSTANT.format([3, 2], 2)}
        {SHAPED} -> tensor<?x?xf32>
        %0 = "stablehlo.add"(%r, %b) : (tensor<?x?xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>""",
        f"""{CONSTANT.format([4, 6], 2)}
        %r = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1]
          : (tensor<6xf32>, tensor<2xi32>) -> tensor<?x6xf32>
        %c = "stablehlo.abs"(%r) : (tensor<?x6xf32>) -> tensor<2x6xf32>
        %0 = "stablehlo.slice"(%c) {{start_indices = array<i64: 0, 0>,
          limit_indices = array<i64: 2, 3>, strides = array<i64: 1, 1>}}
          : (tensor<2x6xf32>) -> tensor<2x3xf32>""",
        f"""{CONSTANT.format([3, 2], 2)}
        {SHAPED} -> tensor<2x3xf32>
        %0 = stablehlo.add %r, %b : tensor<2x3xf32>""",
        """%l = stablehlo.constant dense<1> : tensor<1xi32>
        %h = stablehlo.constant dense<5> : tensor<1xi32>
        %r = stablehlo.real_dynamic_slice %a, %l, %h, %l
          : (tensor<6xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xf32>
        %0 = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>""",
    ],
)
def test_conflicting_refined_shapes_are_refused(body):
    text = f"""func.func @main(%a: tensor<6xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {{
      {body}
      return %0 : tensor<2x3xf32> }}"""
    with pytest.raises((DeclarationError, Unsupported), match=r"tensor<\?x|incompatible|slice"):
        import_program(text)


SCALAR_OPERANDS = """
func.func @main(%p: tensor<i1>, %a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %l: tensor<f32>)
    -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = stablehlo.select %p, %a, %b : tensor<i1>, tensor<2x3xf32>
  %1 = "stablehlo.clamp"(%l, %a, %b)
    : (tensor<f32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = "stablehlo.clamp"(%b, %a, %l)
    : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}"""


@pytest.mark.parametrize("level", [0, 2])
def test_allowed_scalars_agree_with_the_reference_interpreter(level):
    a, b = np.random.default_rng(3).normal(size=(2, 2, 3)).astype(np.float32)
    arguments = [np.array(False), a, b, np.float32(0.25).reshape(())]
    (expected,) = evaluate([(SCALAR_OPERANDS, arguments)])
    found = hlo.compile(SCALAR_OPERANDS, level=level, device="cpu")(*arguments)
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


# Start indices at the limits of their type, and near the edges.
FAR = """
func.func @main(%a: tensor<5x4xf32>, %u: tensor<2x4xf32>, %i: tensor<ROWSx1xKIND>,
                %v: tensor<ROWSx4xf32>, %s: tensor<KIND>, %z: tensor<KIND>)
    -> (tensor<2x4xf32>, tensor<5x4xf32>, tensor<ROWSx4xf32>, tensor<5x4xf32>) {
  %0 = stablehlo.dynamic_slice %a, %s, %z, sizes = [2, 4]
    : (tensor<5x4xf32>, tensor<KIND>, tensor<KIND>) -> tensor<2x4xf32>
  %1 = stablehlo.dynamic_update_slice %a, %u, %s, %z
    : (tensor<5x4xf32>, tensor<2x4xf32>, tensor<KIND>, tensor<KIND>) -> tensor<5x4xf32>
  %2 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 4>}
    : (tensor<5x4xf32>, tensor<ROWSx1xKIND>) -> tensor<ROWSx4xf32>
  %c = stablehlo.add %a, %a : tensor<5x4xf32>
  %3 = "stablehlo.scatter"(%c, %i, %v) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %n = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %n : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<5x4xf32>, tensor<ROWSx1xKIND>, tensor<ROWSx4xf32>) -> tensor<5x4xf32>
  return %0, %1, %2, %3 : tensor<2x4xf32>, tensor<5x4xf32>, tensor<ROWSx4xf32>, tensor<5x4xf32>
}"""


@pytest.mark.parametrize(
    ("kind", "type_"), [("i32", np.int32), ("i64", np.int64), ("ui8", np.uint8)]
)
def test_starts_out_of_bounds_are_clamped_or_left_out(kind, type_):
    ends = np.iinfo(type_)
    rows = [ends.min, 0, 4, 5, ends.max, ends.max // 2 + 1, 3, 3]
    rows += [-1, -5, 2**31 - 1, -(2**31)] if kind != "ui8" else []
    rows += [2**32, 2**32 + 2, -(2**32) + 1] if kind == "i64" else []
    starts = np.array(rows, np.int64 if kind != "ui8" else type_).astype(type_)
    random = np.random.default_rng(4)
    a, u, v = (random.normal(size=(count, 4)).astype(np.float32) for count in (5, 2, len(rows)))
    text = FAR.replace("KIND", kind).replace("ROWS", str(len(rows)))
    run = hlo.compile(text, device="cpu")
    for start in (ends.min, 3, 4, ends.max):
        arguments = [a, u, starts[:, None], v, np.array(start, type_), np.array(ends.max, type_)]
        found = run(*arguments)
        first = min(max(int(start), 0), 3)
        np.testing.assert_array_equal(found[0], a[first : first + 2])
        updated = a.copy()
        updated[first : first + 2] = u
        np.testing.assert_array_equal(found[1], updated)
        np.testing.assert_array_equal(found[2], a[[min(max(int(each), 0), 4) for each in starts]])
        summed = a + a
        for row, values in zip(starts, v, strict=True):
            if 0 <= int(row) < 5:
                summed[int(row)] += values
        np.testing.assert_array_equal(found[3], summed)
