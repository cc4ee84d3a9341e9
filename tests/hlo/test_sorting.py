"""Long lines are sorted by merging runs: correct, stable and parallel."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import hlo
from metalbench.hlo.passes import lowering
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.plan import build_plan

SORT = """
func.func @main(%k: tensor<SHAPExi32>, %v: tensor<SHAPExi32>)
    -> (tensor<SHAPExi32>, tensor<SHAPExi32>) {
  %s:2 = "stablehlo.sort"(%k, %v) <{dimension = AXIS : i64, is_stable = true}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
      %p = stablehlo.compare ORDER, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }) : (tensor<SHAPExi32>, tensor<SHAPExi32>) -> (tensor<SHAPExi32>, tensor<SHAPExi32>)
  return %s#0, %s#1 : tensor<SHAPExi32>, tensor<SHAPExi32>
}"""


def program(shape, axis, order="LT"):
    text = SORT.replace("SHAPE", "x".join(map(str, shape)))
    return text.replace("AXIS", str(axis)).replace("ORDER", order)


# Lengths: one element after a run, one less than a pair of runs, a power of two.
@pytest.mark.parametrize(
    ("shape", "axis"), [((1024,), 0), ((3, 1025), 1), ((1535, 2), 0), ((2, 1537, 3), 1)]
)
def test_long_lines_are_stable(shape, axis, monkeypatch):
    # Use merging also on the CPU, where few lines are sorted by insertion.
    monkeypatch.setattr(lowering, "CPU_LINE_FACTORS", ())
    random = np.random.default_rng(7)
    # Few keys, so that many are equal; values say which was first.
    keys = random.integers(-9, 9, shape).astype(np.int32)
    values = np.broadcast_to(
        np.arange(shape[axis], dtype=np.int32).reshape([-1] + [1] * (len(shape) - axis - 1)), shape
    )
    for order, signed in (("LT", keys), ("GT", -keys)):
        got_keys, got_values = hlo.compile(program(shape, axis, order), device="cpu")(keys, values)
        places = np.argsort(signed, axis=axis, kind="stable")
        np.testing.assert_array_equal(got_keys, np.take_along_axis(keys, places, axis))
        np.testing.assert_array_equal(got_values, places)


def test_a_long_line_has_a_thread_for_each_element():
    made = build_plan(import_program(program((2000,), 0)), 2)
    assert [each.threads for each in made.iterate_kernels()] == [125, *[2000] * 7]
    assert [
        each.threads
        for each in build_plan(import_program(program((2000,), 0)), 0).iterate_kernels()
    ] == [1]
    assert [
        each.threads
        for each in build_plan(import_program(program((8, 100), 1)), 2).iterate_kernels()
    ] == [8]


@pytest.mark.parametrize(
    ("shape", "merged"), [((1, 16384), False), ((8, 2048), False), ((8, 4096), True)]
)
def test_merge_sort_on_a_cpu_needs_long_lines(shape, merged):
    text = program(shape, 1)
    assert (
        len(list(build_plan(import_program(text), 2, device="cpu").iterate_kernels())) > 1
    ) is merged
    assert len(list(build_plan(import_program(text), 2, device="metal").iterate_kernels())) > 1
