"""Several iterations of a loop are submitted at once, with the results of single ones.

Loops with a known number of iterations are launched as graphs. Others read several conditions at
once, after iterations that may not be needed.
"""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

from metalbench import _core
from metalbench.errors import DeclarationError, OutOfMemoryError, TimeLimitExceeded
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.executable import Executable

ITERATIONS = 16  # of a graph
# A state that alternates between two buffers, one that is updated in place, and one that the body
# leaves unchanged. The number of iterations is an argument, so that the loop is not one kernel.
LOOP = """func.func @main(%n: tensor<i32>, %x: tensor<4xf32>, %rows: tensor<8x4xf32>)
    -> (tensor<4xf32>, tensor<8x4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<4xf32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %r:4 = stablehlo.while(%i = %zero, %v = %x, %w = %rows, %same = %x)
    : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>, tensor<4xf32>
    cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %j = stablehlo.add %i, %one : tensor<i32>
         %a = stablehlo.multiply %v, %half : tensor<4xf32>
         %b = stablehlo.add %a, %same : tensor<4xf32>
         %k = stablehlo.and %i, %seven : tensor<i32>
         %row = stablehlo.reshape %b : (tensor<4xf32>) -> tensor<1x4xf32>
         %u = stablehlo.dynamic_update_slice %w, %row, %k, %zero
           : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
         stablehlo.return %j, %b, %u, %same
           : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>, tensor<4xf32> }
  return %r#1, %r#2, %r#3 : tensor<4xf32>, tensor<8x4xf32>, tensor<4xf32>
}"""
# Three states that change places: after a graph, each is in the memory of another.
ROTATION = """func.func @main(%n: tensor<i32>, %x: tensor<4xf32>, %y: tensor<4xf32>,
    %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:4 = stablehlo.while(%i = %zero, %a = %x, %b = %y, %c = %z)
    : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %j = stablehlo.add %i, %one : tensor<i32>
         stablehlo.return %j, %b, %c, %a
           : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> }
  return %r#1, %r#2, %r#3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}"""
# A loop of %m iterations with an inner one of {inner}, which adds 1 to a row.
NESTED = """func.func @main(%m: tensor<i32>, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %inner = stablehlo.constant dense<{inner}> : tensor<i32>
  %ones = stablehlo.constant dense<1.0> : tensor<1x4xf32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4x4xf32>
    cond {{ %p = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }}
    do {{ %s:2 = stablehlo.while(%j = %zero, %w = %v) : tensor<i32>, tensor<4x4xf32>
           cond {{ %q = stablehlo.compare LT, %j, %inner : (tensor<i32>, tensor<i32>) -> tensor<i1>
                  stablehlo.return %q : tensor<i1> }}
           do {{ %l = stablehlo.add %j, %one : tensor<i32>
                %k = stablehlo.and %j, %three : tensor<i32>
                %row = stablehlo.dynamic_slice %w, %k, %zero, sizes = [1, 4]
                  : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
                %new = stablehlo.add %row, %ones : tensor<1x4xf32>
                %u = stablehlo.dynamic_update_slice %w, %new, %k, %zero
                  : (tensor<4x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
                stablehlo.return %l, %u : tensor<i32>, tensor<4x4xf32> }}
         %next = stablehlo.add %i, %one : tensor<i32>
         stablehlo.return %next, %s#1 : tensor<i32>, tensor<4x4xf32> }}
  return %r#1 : tensor<4x4xf32>
}}"""
# A loop that ends when the largest element of its state is small. It counts its iterations, and
# writes each state to a row.
UNTIL_SMALL = """func.func @main(%x: tensor<4xf32>, %rows: tensor<8x4xf32>)
    -> (tensor<4xf32>, tensor<i32>, tensor<8x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %least = stablehlo.constant dense<0.5> : tensor<f32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<4xf32>
  %r:3 = stablehlo.while(%v = %x, %i = %zero, %w = %rows)
    : tensor<4xf32>, tensor<i32>, tensor<8x4xf32>
    cond { %m = stablehlo.reduce(%v init: %none) applies stablehlo.maximum across dimensions = [0]
             : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
           %p = stablehlo.compare GT, %m, %least : (tensor<f32>, tensor<f32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %a = stablehlo.multiply %v, %half : tensor<4xf32>
         %j = stablehlo.add %i, %one : tensor<i32>
         %k = stablehlo.and %i, %seven : tensor<i32>
         %row = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<1x4xf32>
         %u = stablehlo.dynamic_update_slice %w, %row, %k, %zero
           : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
         stablehlo.return %a, %j, %u : tensor<4xf32>, tensor<i32>, tensor<8x4xf32> }
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<i32>, tensor<8x4xf32>
}"""
on_the_double = pytest.mark.skipif("CUDA_DOUBLE" not in os.environ, reason="counts driver calls")


def compile_program(text: str, monkeypatch, graphs: str = "auto") -> Executable:
    monkeypatch.setenv("METALBENCH_HLO_LOOP_GROUPS", graphs)
    return Executable(import_program(text), device="cuda")


def run_loop(count: int, x: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first two results of LOOP by NumPy."""
    rows, value = rows.copy(), x
    for number in range(count):
        value = value * np.float32(0.5) + x
        rows[number % 8] = value
    return value, rows


@pytest.mark.parametrize("count", [0, 1, 2, 47, 48, 49, 50, 64, 65, 200])
def test_results_are_those_of_launches(count, monkeypatch):
    x = np.arange(4, dtype=np.float32)
    rows = np.full((8, 4), -1, np.float32)
    given = np.int32(count), x, rows
    found = [compile_program(LOOP, monkeypatch, each)(*given) for each in ("auto", "never")]
    for results in found:
        for one, expected in zip(results, (*run_loop(count, x, rows), x), strict=True):
            np.testing.assert_array_equal(one, expected)
    np.testing.assert_array_equal(rows, -1)


@pytest.mark.parametrize("count", [48, 49, 50, 51, 200])
def test_states_that_change_places_are_moved(count, monkeypatch):
    program = compile_program(ROTATION, monkeypatch)
    given = [np.full(4, number, np.float32) for number in range(3)]
    for _ in range(2):
        found = program(np.int32(count), *given)
        assert [int(each[0]) for each in found] == [(number + count) % 3 for number in range(3)]


# The inner loop is a part of the outer one's graph, has its own, or has none.
@pytest.mark.parametrize(("outer", "inner"), [(100, 4), (3, 200), (100, 100), (100, 0), (2, 10)])
def test_nested_loops_are_right(outer, inner, monkeypatch):
    (found,) = compile_program(NESTED.format(inner=inner), monkeypatch)(
        np.int32(outer), np.zeros((4, 4), np.float32)
    )
    np.testing.assert_array_equal(found[:, 0], [outer * len(range(r, inner, 4)) for r in range(4)])


def test_later_runs_use_other_memory(monkeypatch):
    program = compile_program(LOOP, monkeypatch)
    rows = np.zeros((8, 4), np.float32)
    held = []
    for number, count in enumerate([100, 30, 100, 64, 0, 150]):
        x = np.full(4, number, np.float32)
        buffers = [program.queue.allocate(each) for each in (4, 16, 128)]
        for buffer, array in zip(buffers, (np.int32(count), x, rows), strict=True):
            program.queue.write(buffer, array.tobytes())
        results = program.run(buffers)
        held.append((buffers, results, run_loop(count, x, rows)))
    for buffers, results, expected in held:
        for buffer, array in zip(results, expected, strict=False):
            np.testing.assert_array_equal(
                np.frombuffer(program.queue.read(buffer), np.float32), array.ravel()
            )
        assert program.queue.read(buffers[2]) == rows.tobytes()


def count_calls(double, *names: bytes) -> list[int]:
    return [double.cuda_double_calls(each) for each in names]


LAUNCHES = (b"cuLaunchKernel", b"cuGraphLaunch", b"cuMemcpyDtoDAsync_v2")


@on_the_double
def test_a_graph_replaces_the_launches_of_its_iterations(double, monkeypatch):
    count = 1 + 100 * ITERATIONS
    given = np.int32(count), np.ones(4, np.float32), np.ones((8, 4), np.float32)
    found = {}
    for graphs in ("auto", "never"):
        program = compile_program(LOOP, monkeypatch, graphs)
        program(*given)
        before = count_calls(double, *LAUNCHES)
        program(*given)
        after = count_calls(double, *LAUNCHES)
        found[graphs] = [a - b for a, b in zip(after, before, strict=True)]
    kernels = found["never"][0] / count
    assert found["never"][1:] == [0, 1]
    # The first iteration and those of the recording, then graphs; no state is copied between them.
    assert found["auto"] == [(1 + ITERATIONS) * kernels, 100, 1]
    assert sum(found["never"]) > 10 * sum(found["auto"])


@on_the_double
def test_a_graph_is_made_once_and_then_updated(double, monkeypatch):
    program = compile_program(LOOP, monkeypatch)
    given = np.int32(100), np.ones(4, np.float32), np.ones((8, 4), np.float32)
    names = b"cuGraphInstantiateWithFlags", b"cuGraphExecUpdate_v2", b"cuStreamCreate"
    before = count_calls(double, *names)
    for _ in range(3):
        program(*given)
    found = [a - b for a, b in zip(count_calls(double, *names), before, strict=True)]
    assert found == [1, 2, 1]
    double.cuda_double_fail(b"cuGraphExecUpdate_v2", 0, 910)
    np.testing.assert_array_equal(program(*given)[0], run_loop(100, *given[1:])[0])
    assert count_calls(double, names[0]) == [before[0] + 2]


@on_the_double
@pytest.mark.parametrize(
    ("name", "after"),
    [
        (b"cuStreamBeginCapture_v2", 0),
        (b"cuLaunchKernel", 10),
        (b"cuStreamEndCapture", 0),
        (b"cuGraphInstantiateWithFlags", 0),
        (b"cuGraphLaunch", 0),
        (b"cuGraphLaunch", 3),
    ],
)
def test_a_failed_call_of_the_driver_is_an_error_and_leaves_nothing(
    name, after, double, monkeypatch
):
    given = np.int32(100), np.ones(4, np.float32), np.ones((8, 4), np.float32)
    program = compile_program(LOOP, monkeypatch)
    double.cuda_double_fail(name, after, 2)
    with pytest.raises(OutOfMemoryError, match="stablehlo"):
        program(*given)
    np.testing.assert_array_equal(program(*given)[0], run_loop(100, *given[1:])[0])


@on_the_double
def test_programs_leave_no_graph(double, monkeypatch):
    given = np.int32(100), np.ones(4, np.float32), np.ones((8, 4), np.float32)
    compile_program(LOOP, monkeypatch)(*given)
    alive = double.cuda_double_alive()
    for _ in range(2):
        compile_program(LOOP, monkeypatch)(*given)
        assert double.cuda_double_alive() == alive


@pytest.mark.parametrize("groups", ["auto", "never"])
def test_a_loop_of_unknown_length_ends_at_its_condition(groups, monkeypatch):
    program = compile_program(UNTIL_SMALL, monkeypatch, groups)
    for count in range(40):
        # The state is halved until it is 0.5 or less.
        x = np.array([0.1, 0.2, 0.5 * 2.0**count, 0.3], np.float32)
        rows = np.full((8, 4), -1, np.float32)
        expected = rows.copy()
        for number in range(count):
            expected[number % 8] = x * np.float32(0.5) ** (number + 1)
        found = program(x, rows)
        np.testing.assert_array_equal(found[0], x * np.float32(0.5) ** count)
        assert found[1] == count
        np.testing.assert_array_equal(found[2], expected)
        np.testing.assert_array_equal(rows, -1)


@on_the_double
def test_conditions_are_read_together(double, monkeypatch):
    count = 120
    x = np.array([0, 0, 0.5 * 2.0**count, 0], np.float32)
    reads = {}
    for groups in ("auto", "never"):
        program = compile_program(UNTIL_SMALL, monkeypatch, groups)
        program(x, np.zeros((8, 4), np.float32))
        before = double.cuda_double_calls(b"cuMemcpyDtoHAsync_v2")
        assert program(x, np.zeros((8, 4), np.float32))[1] == count
        reads[groups] = double.cuda_double_calls(b"cuMemcpyDtoHAsync_v2") - before
    # With three results. Groups have 1, 2, 4, 8, and then always 8 iterations.
    assert reads == {"never": count + 1 + 3, "auto": 3 + (count - 7) // 8 + 1 + 3}


@on_the_double
def test_a_time_limit_and_an_interrupt_end_a_loop_of_graphs(double, monkeypatch):
    endless = LOOP.replace("%n: tensor<i32>, ", "").replace(
        "%zero =", "%n = stablehlo.constant dense<2000000000> : tensor<i32>\n  %zero =", 1
    )
    program = compile_program(endless, monkeypatch)
    program.run_limit = 0.2
    given = np.ones(4, np.float32), np.ones((8, 4), np.float32)
    # The kernels in the queue do nothing from now on.
    double.cuda_double_hang(1)
    with pytest.raises(TimeLimitExceeded, match=r"while.*not ended after \d+ iterations"):
        program(*given)
    program.run_limit = None
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        program(*given)
    timer.join()
    double.cuStreamSynchronize(None)
    double.cuda_double_hang(0)
    counted = np.int32(100), *given
    np.testing.assert_array_equal(
        compile_program(LOOP, monkeypatch)(*counted)[0], run_loop(100, *given)[0]
    )


def test_another_value_of_the_variable_is_refused(monkeypatch):
    with pytest.raises(DeclarationError, match="METALBENCH_HLO_LOOP_GROUPS: expected auto, never"):
        compile_program(LOOP, monkeypatch, "often")


def test_a_graph_needs_a_queue_that_has_them(monkeypatch):
    monkeypatch.setenv("METALBENCH_HLO_LOOP_GROUPS", "auto")
    given = np.int32(100), np.ones(4, np.float32), np.ones((8, 4), np.float32)
    program = Executable(import_program(LOOP), queue=_core.Queue(_core.open("cpu")), device="cpu")
    np.testing.assert_array_equal(program(*given)[0], run_loop(100, *given[1:])[0])
