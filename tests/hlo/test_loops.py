"""Loops: counted ones do not evaluate their condition, and their state is updated in place."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.compilation import compile_program
from metalbench.hlo.runtime.executable import Executable
from metalbench.hlo.runtime.plan import build_plan

# Appends the counter to `rows` and adds it to `sum`.
LOOP = """func.func @main(%start: tensor<TYPE>, %bound: tensor<TYPE>, %x: tensor<16xTYPE>)
    -> (tensor<TYPE>, tensor<16xTYPE>, tensor<TYPE>) {
  %zero = stablehlo.constant dense<0> : tensor<TYPE>
  %step = stablehlo.constant dense<STEP> : tensor<TYPE>
  %given = stablehlo.constant dense<7> : tensor<TYPE>
  %r:4 = stablehlo.while(%i = START, %v = %x, %s = %zero, %b = %bound)
      : tensor<TYPE>, tensor<16xTYPE>, tensor<TYPE>, tensor<TYPE>
    cond { %p = stablehlo.compare COMPARED : (tensor<TYPE>, tensor<TYPE>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %j = stablehlo.add ADDED : tensor<TYPE>
         %t = stablehlo.add %s, %i : tensor<TYPE>
         %row = stablehlo.reshape %i : (tensor<TYPE>) -> tensor<1xTYPE>
         %u = stablehlo.dynamic_update_slice %v, %row, %t
           : (tensor<16xTYPE>, tensor<1xTYPE>, tensor<TYPE>) -> tensor<16xTYPE>
         stablehlo.return %j, %u, %t, %b
           : tensor<TYPE>, tensor<16xTYPE>, tensor<TYPE>, tensor<TYPE> }
  return %r#0, %r#1, %r#2 : tensor<TYPE>, tensor<16xTYPE>, tensor<TYPE>
}"""


def write_loop(compared, *, step=1, start="%start", kind="i32", added="%i, %step"):
    values = {"COMPARED": compared, "STEP": str(step), "START": start, "TYPE": kind, "ADDED": added}
    text = LOOP
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def interpret(start, bound, step, continues, dtype):
    """Return the results that StableHLO defines, with integers that wrap around."""
    with np.errstate(over="ignore"):
        x, total = np.zeros(16, dtype), np.zeros((), dtype)
        count = np.array(start, dtype)
        while continues(count, np.array(bound, dtype)):
            total = (total + count).astype(dtype)
            x[int(np.clip(total, 0, 15))] = count
            count = (count + np.array(step).astype(dtype)).astype(dtype)
    return count, x, total


LESS = ("LT, %i, %b", 1, lambda i, b: i < b)
CASES = {
    "less": LESS,
    "at most": ("LE, %i, %b", 2, lambda i, b: i <= b),
    "greater": ("GT, %i, %b", -1, lambda i, b: i > b),
    "at least": ("GE, %i, %b", -3, lambda i, b: i >= b),
    "mirrored": ("GT, %b, %i", 1, lambda i, b: i < b),
    "from outside": ("LT, %i, %bound", 1, lambda i, b: i < b),
    "constant": ("LT, %i, %given", 1, lambda i, b: i < 7),
}


@pytest.mark.parametrize("bounds", [(0, 5), (5, 0), (3, 3), (-4, 11)], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_counted_loops_are_the_interpreters(case, bounds):
    compared, step, continues = CASES[case]
    text = write_loop(compared, step=step)
    plan = build_plan(import_program(text), 2, device="cpu")
    (loop,) = [each for each in plan.steps if each.plans]
    assert loop.counter is not None
    start, bound = bounds
    given = (np.int32(start), np.int32(bound), np.zeros(16, np.int32))
    found = Executable(plan, device="cpu")(*given)
    for ours, right in zip(found, interpret(start, bound, step, continues, "i4"), strict=True):
        np.testing.assert_array_equal(ours, right)


@pytest.mark.parametrize(
    ("kind", "dtype", "start", "bound"),
    [("i8", "i1", 100, 127), ("ui8", "u1", 250, 255), ("i64", "i8", 2**40, 2**40 + 5)],
)
def test_counters_of_other_types(kind, dtype, start, bound):
    text = write_loop(LESS[0], kind=kind)
    given = (np.array(start, dtype), np.array(bound, dtype), np.zeros(16, dtype))
    found = Executable(import_program(text), device="cpu")(*given)
    right = interpret(start, bound, 1, LESS[2], dtype)
    for ours, each in zip(found, right, strict=True):
        np.testing.assert_array_equal(ours, each)


def test_a_counter_that_wraps_around_evaluates_the_condition():
    # 126 + 3 is -127: the counter wraps around twice before the loop ends.
    text = write_loop("LE, %i, %b", step=3, kind="i8")
    given = (np.int8(120), np.int8(125), np.zeros(16, np.int8))
    found = Executable(import_program(text), device="cpu")(*given)
    right = interpret(120, 125, 3, lambda i, b: i <= b, "i1")
    for ours, each in zip(found, right, strict=True):
        np.testing.assert_array_equal(ours, each)


@pytest.mark.parametrize(
    "changed",
    [
        ("NE, %i, %b", {}),
        ("LT, %i, %s", {}),
        ("LT, %i, %b", {"step": -1}),
        ("LT, %i, %b", {"added": "%i, %i"}),
        ("LT, %i, %b", {"kind": "i4"}),
    ],
    ids=["inequality", "changing bound", "wrong sign", "no constant", "narrow integer"],
)
def test_other_loops_have_no_counter(changed):
    compared, options = changed
    plan = build_plan(import_program(write_loop(compared, **options)), 2, device="cpu")
    (loop,) = [each for each in plan.steps if each.plans]
    assert loop.counter is None


def test_plans_from_the_cache_keep_counters_and_updates():
    text = write_loop(*LESS[:1])
    given = (np.int32(0), np.int32(5), np.zeros(16, np.int32))
    first, second = (compile_program(text, device="cpu") for _ in range(2))
    for plan in (first.plan, second.plan):
        (loop,) = [each for each in plan.steps if each.plans]
        assert loop.counter is not None
        assert [each for each in loop.plans[1].steps if each.updated is not None]
    for ours, each in zip(first(*given), second(*given), strict=True):
        np.testing.assert_array_equal(ours, each)


SHIFTED = """func.func @main(%x: tensor<64xf32>, %i: tensor<i32>) -> tensor<64xf32> {
  %s = stablehlo.dynamic_slice %x, %i, sizes = [8] : (tensor<64xf32>, tensor<i32>) -> tensor<8xf32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %j = stablehlo.add %i, %one : tensor<i32>
  %u = stablehlo.dynamic_update_slice %x, %s, %j
    : (tensor<64xf32>, tensor<8xf32>, tensor<i32>) -> tensor<64xf32>
  return %u : tensor<64xf32>
}"""


@pytest.mark.parametrize("place", [0, 3, 55, 56, 70, -5])
def test_an_update_may_be_computed_from_what_it_replaces(place):
    program = Executable(import_program(SHIFTED), device="cpu")
    assert [each for each in program.plan.steps if each.updated is not None]
    x = np.arange(64, dtype=np.float32)
    expected = x.copy()
    start, end = np.clip(place, 0, 56), np.clip(place + 1, 0, 56)
    expected[end : end + 8] = x[start : start + 8]
    for _ in range(2):
        (found,) = program(x, np.int32(place))
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(x, np.arange(64))


def test_the_state_of_a_loop_is_updated_in_place():
    program = Executable(import_program(write_loop(LESS[0])), device="cpu")
    x = np.zeros(16, np.int32)
    program(np.int32(0), np.int32(3), x)
    peak = program.queue.peak_bytes
    program(np.int32(0), np.int32(100), x)
    assert program.queue.peak_bytes == peak


ELEMENTS = """func.func @main(%x: tensor<6x40xf32>, %w: tensor<40xf32>)
    -> (tensor<40xf32>, tensor<6x40xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %start = stablehlo.constant dense<0.5> : tensor<40xf32>
  %empty = stablehlo.constant dense<0.0> : tensor<6x40xf32>
  %r:4 = stablehlo.while(%i = %zero, %s = %start, %y = %empty, %g = %x)
      : tensor<i32>, tensor<40xf32>, tensor<6x40xf32>, tensor<6x40xf32>
    cond { %n = stablehlo.constant dense<6> : tensor<i32>
           %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %one = stablehlo.constant dense<1> : tensor<i32>
         %j = stablehlo.add %i, %one : tensor<i32>
         %k = stablehlo.PLACE : tensor<i32>
         %a = stablehlo.dynamic_slice %g, %i, %zero, sizes = [1, 40]
           : (tensor<6x40xf32>, tensor<i32>, tensor<i32>) -> tensor<1x40xf32>
         %b = stablehlo.reshape %a : (tensor<1x40xf32>) -> tensor<40xf32>
         %m = stablehlo.multiply %s, %w : tensor<40xf32>
         %t = stablehlo.add %m, %b : tensor<40xf32>
         %u = stablehlo.reshape %t : (tensor<40xf32>) -> tensor<1x40xf32>
         %v = stablehlo.dynamic_update_slice %y, %u, %k, %zero
           : (tensor<6x40xf32>, tensor<1x40xf32>, tensor<i32>, tensor<i32>) -> tensor<6x40xf32>
         stablehlo.return %j, %t, %v, %g
           : tensor<i32>, tensor<40xf32>, tensor<6x40xf32>, tensor<6x40xf32> }
  return %r#1, %r#2, %r#0 : tensor<40xf32>, tensor<6x40xf32>, tensor<i32>
}"""
# The row that an iteration writes, the function of it, and whether each row is written once.
PLACES = {
    "forwards": ("multiply %i, %one", lambda i: i, True),
    "one row": ("multiply %i, %zero", lambda i: 0, False),
    "clamped": ("add %i, %one", lambda i: min(i + 1, 5), False),
    "backwards": ("subtract %last, %i", lambda i: 5 - i, True),
}


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("place", PLACES)
def test_a_loop_on_elements_is_one_kernel(place, level):
    written, row, is_fused = PLACES[place]
    last = "%last = stablehlo.constant dense<5> : tensor<i32>\n         %k ="
    text = ELEMENTS.replace("%k =", last).replace("PLACE", written)
    random = np.random.default_rng(6)
    x, w = random.normal(size=(6, 40)).astype(np.float32), random.normal(size=40).astype(np.float32)
    program = Executable(import_program(text), level=level, device="cpu")
    assert ("counted_loop" in program.source) is (is_fused and level > 0)
    state, rows = np.full(40, 0.5, np.float32), np.zeros((6, 40), np.float32)
    for i in range(6):
        state = state * w + x[i]
        rows[row(i)] = state
    found, stacked, count = program(x, w)
    np.testing.assert_allclose(found, state, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(stacked, rows, rtol=1e-5, atol=1e-5)
    assert count == 6


SUM = """func.func @main(%x: tensor<3xTYPE>) -> (tensor<3xTYPE>, tensor<TYPE>) {
  %start = stablehlo.constant dense<START> : tensor<TYPE>
  %r:2 = stablehlo.while(%i = %start, %s = %x) : tensor<TYPE>, tensor<3xTYPE>
    cond { %n = stablehlo.constant dense<BOUND> : tensor<TYPE>
           %p = stablehlo.compare LT, %i, %n : (tensor<TYPE>, tensor<TYPE>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %step = stablehlo.constant dense<STEP> : tensor<TYPE>
         %j = stablehlo.add %i, %step : tensor<TYPE>
         %b = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<TYPE>) -> tensor<3xTYPE>
         %t = stablehlo.xor %s, %b : tensor<3xTYPE>
         stablehlo.return %j, %t : tensor<TYPE>, tensor<3xTYPE> }
  return %r#1, %r#0 : tensor<3xTYPE>, tensor<TYPE>
}"""


def write_sum(kind, start, bound, step):
    text = SUM.replace("TYPE", kind).replace("START", str(start))
    return text.replace("BOUND", str(bound)).replace("STEP", str(step))


@pytest.mark.parametrize(
    ("kind", "dtype", "start", "bound", "step"),
    [
        ("i32", np.int32, -(2**31) + 5, 2**31 - 2**28, 2**27),
        ("i64", np.int64, -(2**40), 2**40, 10**11 + 7),
        ("ui32", np.uint32, 2**31, 2**32 - 2**28, 2**27),
    ],
)
def test_counters_of_one_kernel_do_not_overflow(kind, dtype, start, bound, step):
    text = write_sum(kind, start, bound, step)
    program = Executable(import_program(text), device="cpu")
    assert "counted_loop" in program.source
    expected = 0
    for number in range(start, bound, step):
        expected ^= number
    found, count = program(np.zeros(3, dtype))
    assert found.tolist() == [expected] * 3
    assert count == start + step * len(range(start, bound, step))


@pytest.mark.parametrize(("bound", "is_fused"), [(2**20, True), (2**20 + 1, False), (2**40, False)])
def test_a_loop_of_too_many_iterations_is_not_one_kernel(bound, is_fused):
    text = write_sum("i64", 0, bound, 1)
    source = "".join(each.text for each in build_plan(import_program(text), 2).iterate_kernels())
    assert ("counted_loop" in source) is is_fused
