"""Compiler passes on graphs: removed, kept and inlined operations."""

from __future__ import annotations

import pytest

from metalbench.errors import DeclarationError, Unsupported
from metalbench.hlo.codegen import STAGED
from metalbench.hlo.ir import format_block
from metalbench.hlo.operations import CONTROL_FLOW
from metalbench.hlo.passes.canonicalization import remove_dead_code
from metalbench.hlo.passes.fusion import choose_inlined_values
from metalbench.hlo.passes.lowering import MAX_OPERANDS
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.plan import build_plan, format_source

SOFTMAX = """
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1]
    : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %d = stablehlo.subtract %x, %mb : tensor<4x8xf32>
  %e = stablehlo.exponential %d : tensor<4x8xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %r = stablehlo.divide %e, %sb : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}"""


def kernels(program, level):
    return [
        each.name.rpartition("_")[0]
        for each in build_plan(import_program(program), level).iterate_kernels()
    ]


def test_level_0_gives_each_operation_a_kernel():
    expected = "reduce broadcast_in_dim subtract exponential reduce broadcast_in_dim divide"
    assert kernels(SOFTMAX, 0) == expected.split()


def test_level_2_computes_a_value_with_many_uses_once():
    assert kernels(SOFTMAX, 2) == ["reduce", "exponential", "reduce", "divide"]


def test_equal_kernels_are_written_once():
    program = """
    func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
        : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0]
        : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %2 = stablehlo.dot_general %1, %0, contracting_dims = [1] x [0]
        : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      return %2 : tensor<4x4xf32>
    }"""
    made = build_plan(import_program(program), 2)
    assert [each.name for each in made.iterate_kernels()] == [
        "dot_general_1",
        "dot_general_1",
        "dot_general_3",
    ]
    assert format_source(made).count("kernel void") == 2


def test_an_elementwise_epilogue_is_part_of_the_product():
    program = """
    func.func @main(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>, %c: tensor<3xf32>)
        -> tensor<4x3xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
      %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
      %2 = stablehlo.add %0, %1 : tensor<4x3xf32>
      %3 = stablehlo.tanh %2 : tensor<4x3xf32>
      return %3 : tensor<4x3xf32>
    }"""
    assert kernels(program, 2) == ["tanh"]


def test_values_carried_by_a_loop_have_buffers():
    block = import_program("""
    func.func @main(%n: tensor<i32>) -> tensor<i32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %two = stablehlo.constant dense<2> : tensor<i32>
      %r = stablehlo.while(%i = %zero) : tensor<i32>
        cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
               stablehlo.return %p : tensor<i1> }
        do { %j = stablehlo.add %i, %two : tensor<i32>
             stablehlo.return %j : tensor<i32> }
      return %r : tensor<i32>
    }""")
    (loop,) = (each for each in block.operations if each.name == "while")
    for level in (0, 2):
        inlined = choose_inlined_values(block, level, {*STAGED, *CONTROL_FLOW})
        assert inlined.isdisjoint(loop.operands)


def test_more_operands_than_a_kernel_has_buffers_are_joined_in_groups():
    names = [f"%a{number}" for number in range(2 * MAX_OPERANDS + 1)]
    types = ", ".join(["tensor<2xf32>"] * len(names))
    result = f"tensor<{2 * len(names)}xf32>"
    block = import_program(f"""
    func.func @main({", ".join(f"{each}: tensor<2xf32>" for each in names)}) -> {result} {{
      %0 = stablehlo.concatenate {", ".join(names)}, dim = 0 : ({types}) -> {result}
      return %0 : {result}
    }}""")
    sizes = [each.results[0].type.shape[0] for each in block.operations]
    assert sizes == [2 * MAX_OPERANDS, 2 * MAX_OPERANDS, 2, 2 * len(names)]
    assert max(len(each.inputs) for each in build_plan(block, 2).iterate_kernels()) <= 20


def test_dead_code_is_removed():
    block = import_program(SOFTMAX)
    block.returned = [block.arguments[0]]
    remove_dead_code(block)
    assert block.operations == []


def test_a_graph_is_shown_with_types_and_regions():
    shown = format_block(import_program(SOFTMAX))
    assert "reduce(%0, %" in shown
    assert "{'dimensions': (1,)} : tensor<4xf32>" in shown
    assert "return" in shown


def test_calls_and_composites_are_inlined_and_chlo_legalised():
    block = import_program("""
    func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.add %x, %x : tensor<2xf32>
      return %0 : tensor<2xf32>
    }
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = func.call @twice(%x) : (tensor<2xf32>) -> tensor<2xf32>
      %1 = stablehlo.composite "my.twice" %0 {decomposition = @twice}
        : (tensor<2xf32>) -> tensor<2xf32>
      %2 = chlo.square %1 : tensor<2xf32> -> tensor<2xf32>
      return %2 : tensor<2xf32>
    }""")
    assert [each.name for each in block.operations] == ["add", "add", "multiply"]


@pytest.mark.parametrize(
    ("type_", "operation", "message"),
    [
        ("tensor<2xf6E2M3FN>", "stablehlo.negate %x", "element type f6E2M3FN: it has no type"),
        ("tensor<?xf32>", "stablehlo.negate %x", "expected a static shape"),
    ],
)
def test_unsupported_operations_are_refused_by_name(type_, operation, message):
    program = f"func.func @main(%x: {type_}) -> {type_} {{ %0 = {operation} : {type_}\n"
    program += f"return %0 : {type_} }}"
    with pytest.raises(Unsupported, match=message):
        build_plan(import_program(program), 2)


def test_invalid_text_is_refused_with_its_line():
    with pytest.raises(DeclarationError, match=r'model.mlir: not a StableHLO(.|\n)*"-":2:3'):
        import_program("func.func @main() {\n  nonsense\n}", "model.mlir")
    with pytest.raises(DeclarationError, match="expected a function @main, got other"):
        import_program("func.func @other() { return }")


@pytest.mark.parametrize(
    ("operation", "expected"), [("add", ["concatenate"]), ("divide", ["add", "concatenate"])]
)
def test_two_parts_of_a_concatenation_repeat_cheap_arithmetic_only(operation, expected):
    program = f"""
    func.func @main(%x: tensor<8xi32>, %y: tensor<8xi32>) -> tensor<16xi32> {{
      %0 = stablehlo.{operation} %x, %y : tensor<8xi32>
      %1 = stablehlo.add %0, %0 : tensor<8xi32>
      %2 = stablehlo.add %1, %1 : tensor<8xi32>
      %3 = stablehlo.add %2, %2 : tensor<8xi32>
      %4 = stablehlo.subtract %3, %x : tensor<8xi32>
      %5 = stablehlo.xor %3, %y : tensor<8xi32>
      %r = stablehlo.concatenate %4, %5, dim = 0
        : (tensor<8xi32>, tensor<8xi32>) -> tensor<16xi32>
      return %r : tensor<16xi32>
    }}"""
    assert kernels(program, 2) == expected
