"""Counts of operations and bytes of programs."""

from __future__ import annotations

from math import ceil, log2

import pytest

from metalbench import hlo
from metalbench.hlo.operations import ELEMENTWISE, OPERATIONS
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.costs import WorkCount, count_alias_bytes, count_plan_bytes, count_work
from metalbench.hlo.runtime.plan import build_plan


def program(body, arguments="%x: tensor<6x8xf32>", result="tensor<6x8xf32>"):
    return f"func.func @main({arguments}) -> {result} {{\n{body}\n}}"


LOOP = """
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %step = stablehlo.constant dense<{step}> : tensor<i32>
  %bound = stablehlo.constant dense<{bound}> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<6x8xf32>
    cond {{ %p = stablehlo.compare {direction}, %i, %bound
             : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }}
    do {{ %j = stablehlo.add %i, %step : tensor<i32>
         %w = stablehlo.multiply %v, %v : tensor<6x8xf32>
         stablehlo.return %j, %w : tensor<i32>, tensor<6x8xf32> }}
  return %r#1 : tensor<6x8xf32>"""
ADD = """({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
  })"""
CASES = {
    "elementwise": (
        """  %y = stablehlo.exponential %x : tensor<6x8xf32>
             %z = stablehlo.multiply %y, %x : tensor<6x8xf32>
             return %z : tensor<6x8xf32>""",
        "tensor<6x8xf32>",
        WorkCount(48, 48),
        2 * 48 * 4,
    ),
    "product": (
        """  %y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1]
               : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x6xf32>
             return %y : tensor<6x6xf32>""",
        "tensor<6x6xf32>",
        WorkCount(2 * 6 * 6 * 8),
        (48 + 36) * 4,
    ),
    "reduction": (
        """  %zero = stablehlo.constant dense<0.0> : tensor<f32>
             %y = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
               : (tensor<6x8xf32>, tensor<f32>) -> tensor<6xf32>
             return %y : tensor<6xf32>""",
        "tensor<6xf32>",
        WorkCount(6 * 7),
        (48 + 6) * 4,
    ),
    "windows": (
        f"""  %zero = stablehlo.constant dense<0.0> : tensor<f32>
             %y = "stablehlo.reduce_window"(%x, %zero) {ADD}
               {{window_dimensions = array<i64: 2, 4>, window_strides = array<i64: 2, 4>}}
               : (tensor<6x8xf32>, tensor<f32>) -> tensor<3x2xf32>
             return %y : tensor<3x2xf32>""",
        "tensor<3x2xf32>",
        WorkCount(6 * 7),
        (48 + 6) * 4,
    ),
    "sort": (
        """  %y = "stablehlo.sort"(%x) ({
             ^bb0(%a: tensor<f32>, %b: tensor<f32>):
               %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
               stablehlo.return %c : tensor<i1>
             }) {dimension = 1 : i64} : (tensor<6x8xf32>) -> tensor<6x8xf32>
             return %y : tensor<6x8xf32>""",
        "tensor<6x8xf32>",
        WorkCount(48 * ceil(log2(8))),
        2 * 48 * 4,
    ),
    "movement": (
        """  %y = stablehlo.reverse %x, dims = [0] : tensor<6x8xf32>
             return %y : tensor<6x8xf32>""",
        "tensor<6x8xf32>",
        WorkCount(),
        2 * 48 * 4,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_work_and_bytes_are_those_of_the_operations(name):
    body, result, work, moved = CASES[name]
    block = import_program(program(body, result=result))
    assert count_work(block) == work
    assert count_plan_bytes(build_plan(block, 2)) == moved


@pytest.mark.parametrize(
    ("step", "bound", "direction", "count"),
    [(1, 7, "LT", 7), (1, 7, "LE", 8), (3, 7, "LT", 3), (-2, -7, "GT", 4), (1, -1, "LT", 0)],
)
def test_counted_loops_count_each_iteration(step, bound, direction, count):
    text = program(LOOP.format(step=step, bound=bound, direction=direction))
    block = import_program(text)
    # An element of each iteration is the comparison, another one the counter.
    assert count_work(block) == WorkCount((48 + 2) * count)
    # Other levels may run such a loop in one kernel.
    plan = build_plan(block, 0)
    (loop,) = [each for each in plan.steps if each.plans]
    inner = sum(map(count_plan_bytes, loop.plans))
    assert inner >= 2 * 48 * 4
    assert count_plan_bytes(plan) == inner * count


def test_a_choice_counts_its_most_costly_block():
    text = program(
        """  %y = "stablehlo.if"(%p) ({
               %a = stablehlo.add %x, %x : tensor<6x8xf32>
               %b = stablehlo.multiply %a, %x : tensor<6x8xf32>
               stablehlo.return %b : tensor<6x8xf32>
             }, {
               stablehlo.return %x : tensor<6x8xf32>
             }) : (tensor<i1>) -> tensor<6x8xf32>
             return %y : tensor<6x8xf32>""",
        "%p: tensor<i1>, %x: tensor<6x8xf32>",
    )
    block = import_program(text)
    assert count_work(block) == WorkCount(2 * 48)
    assert count_plan_bytes(build_plan(block, 2)) == 2 * 48 * 4


def test_updates_of_donated_arguments_alias_them():
    text = program(
        """  %zero = stablehlo.constant dense<0> : tensor<i32>
             %y = stablehlo.dynamic_update_slice %x, %u, %zero, %zero
               : (tensor<6x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<6x8xf32>
             return %y : tensor<6x8xf32>""",
        "%x: tensor<6x8xf32>, %u: tensor<1x8xf32>",
    )
    plan = hlo.compile(text, device="cpu").executable.plan
    assert count_alias_bytes(plan, [0]) == 48 * 4
    assert count_alias_bytes(plan, [1]) == count_alias_bytes(plan, []) == 0


def test_transcendental_operations_are_elementwise_and_costly():
    found = {name for name, each in OPERATIONS.items() if each.is_transcendental}
    assert found <= ELEMENTWISE
    assert {"exponential", "log", "sqrt", "tanh", "power"} <= found
    assert found.isdisjoint({"add", "divide", "remainder", "convert"})
    assert all(OPERATIONS[each].cost > 1 for each in found)
