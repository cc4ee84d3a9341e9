"""Loops of which lanes take different numbers of turns, or that they leave in different turns."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core
from metalbench.msl.engine import ENGINE_VARIABLE


@pytest.fixture(autouse=True)
def as_vectors(monkeypatch):
    """Run loops as vectors, where the iteration of a lane matters."""
    monkeypatch.setenv(ENGINE_VARIABLE, "vectors")


# LLVM makes loops within each other of it, one for each place from which the next turn begins: some
# lanes begin another turn of the outer one while others stay in the inner one.
SKIPPING = """
kernel void skipping(device const uint* a, device uint* y, constant uint& turns,
                     uint i [[thread_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
  threadgroup uint written[64];
  uint sum = 1, before = 0;
  for (uint k = turns; k-- > 0;) {
    switch (a[i + k]) {
      case 5:
        if ((i + k) % 5 != 4) continue;
        before = sum;
        sum = sum * 31 + before;
      case 4: break;
      default: break;
    }
  }
  written[tid] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = written[tid] + before;
}
"""


@pytest.mark.parametrize("turns", [1, 2, 40])
def test_skipped_iterations_do_not_affect_a_lane(device, compile_kernel, turns):
    pipeline = compile_kernel(SKIPPING)
    a = np.random.default_rng(1).integers(4, 7, 100).astype(np.uint32)
    want = []
    for i in range(60):
        total, before = 1, 0
        for k in reversed(range(turns)):
            if a[i + k] == 5 and (i + k) % 5 == 4:
                before = total
                total = (total * 31 + before) % 2**32
        want.append((total + before) % 2**32)
    y = np.zeros(60, np.uint32)
    arguments = {"a": a, "y": y, "turns": np.array([turns], np.uint32)}
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=60, threads=40)])
    np.testing.assert_array_equal(y, want)


BY_KEY = """
kernel void by_key(device const uint* keys, device uint* y, uint i [[thread_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]]) {{
  uint key = keys[i], count = 0;
  {loop}
  y[i] = count * 100 + simd_sum(1u);
}}
"""
# Every turn is of the lanes that have one key.
LOOPS = {
    "break": """for (;;) {
      if (simd_broadcast_first(key) == key) { count = simd_sum(1u); break; }
    }""",
    "break, with another end": """for (uint k = 0; k < 40; ++k) {
      if (simd_broadcast_first(key) == key) { count = simd_sum(1u); break; }
    }""",
    "break, around another branch": """while (true) {
      if (simd_broadcast_first(key) == key) {
        if (key < 2) { count = simd_sum(1u); } else { count = simd_sum(1u); }
        break;
      }
    }""",
    "break, of few turns": """for (uint k = 0; k < 4; ++k) {
      if (k == key) { count = simd_sum(1u); break; }
    }""",
    "break, where the source says that it be unrolled": """_Pragma("unroll")
    for (uint k = 0; k < 4; ++k) {
      if (k == key) { count = simd_sum(1u); break; }
    }""",
    "break, across two loops": """bool done = false;
    for (uint k = 0; k < 2; ++k) {
      for (uint j = 0; j < 2; ++j) {
        if (k * 2 + j == key) { count = simd_sum(1u); done = true; break; }
      }
      if (done) { break; }
    }""",
    "break, without a block": "for (uint k = 0; ; ++k) if (k == key) { count = simd_sum(1u); break; }",
    "flag, and a break after it": """for (uint k = 0; k < 40; ++k) {
      bool found = false;
      if (k == key) { count = simd_sum(1u); found = true; }
      if (found) { break; }
    }""",
    "flag, without a block": """bool done = false;
    while (!done)
      if (simd_broadcast_first(key) == key) count = simd_sum(1u), done = true;""",
    "flag, in a switch": """bool done = false;
    for (uint k = 0; !done; ++k) {
      switch (key - k) {
        case 0: count = simd_sum(1u); done = true; break;
        default: break;
      }
    }""",
    "break, behind a loop": """for (;;) {
      if (simd_broadcast_first(key) == key) {
        for (uint k = 0; k <= key; ++k) { count = simd_sum(1u); }
        break;
      }
    }""",
    "break, behind a loop that is left": """for (uint k = 0; k < 40; ++k) {
      if (simd_broadcast_first(key) == key) {
        for (;;) { if (simd_broadcast_first(lane) == lane) { count += simd_sum(1u); break; } }
        count = simd_sum(count);
        break;
      }
    }""",
    "flag, of a loop within": """for (uint k = 0; k < 40; ++k) {
      uint turns = 0;
      for (; turns < (k == key ? 2u : 0u); ++turns) { count = simd_sum(1u); }
      if (turns != 0) { break; }
    }""",
    "flag": """bool done = false;
    while (!done) {
      if (simd_broadcast_first(key) == key) { count = simd_sum(1u); done = true; }
    }""",
    "vote": """bool done = false;
    while (simd_any(!done)) {
      if (!done && simd_broadcast_first(key) == key) { count = simd_sum(1u); done = true; }
    }""",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_values_before_a_loop_exit_are_of_the_last_iteration(loop):
    """On vectors; fibers have no turns, and all keys meet there."""
    device = _core.open("cpu")
    source = "#include <metal_stdlib>\nusing namespace metal;\n" + BY_KEY.format(loop=LOOPS[loop])
    pipeline = device.compile(source).pipeline()
    assert pipeline.engine == "vectors"
    keys = np.random.default_rng(2).integers(0, 4, 40).astype(np.uint32)
    y = np.zeros(40, np.uint32)
    arguments = {"keys": keys, "y": y}
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=40, threads=40)])
    want = []
    for lanes in (keys[:32], keys[32:]):
        want += [(lanes == key).sum() * 100 + len(lanes) for key in lanes]
    np.testing.assert_array_equal(y, want)


RETURNING = [
    "for (;;) { if (simd_broadcast_first(key) == key) { return simd_sum(1u); } }",
    """for (uint k = 0; k < 2; ++k) {
      for (uint j = 0; j < 2; ++j) { if (k * 2 + j == key) { return simd_sum(1u); } }
    }
    return 0;""",
    # LLVM finds out that the inner loop has one turn at most.
    """for (uint k = 0; k < 9; ++k) {
      uint j = 0;
      while (j++ < 4 && simd_broadcast_first(key) == key) {
        if (k < 9) { return simd_sum(1u); }
      }
    }
    return 0;""",
]


@pytest.mark.parametrize("inside", RETURNING)
def test_a_return_within_a_loop_has_the_value_of_the_last_iteration(inside):
    device = _core.open("cpu")
    body = f"static uint of_key(uint key) {{ {inside} }}"
    body += BY_KEY.format(loop="count = of_key(key);")
    source = f"#include <metal_stdlib>\nusing namespace metal;\n{body}"
    pipeline = device.compile(source).pipeline()
    assert pipeline.engine == "vectors"
    keys = (np.arange(32) % 3).astype(np.uint32)
    y = np.zeros(32, np.uint32)
    arguments = {"keys": keys, "y": y}
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=32, threads=32)])
    np.testing.assert_array_equal(y, np.where(keys == 2, 1032, 1132))


# The first lane takes the inner loop's turns, and LLVM goes from there to what it does alone behind
# it: the others stand there before.
AFTER_A_LOOP = """
#include <metal_stdlib>
using namespace metal;
kernel void after_a_loop(device const float* a, device uint* y, uint i [[thread_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
  uint x = 1, outer = 0;
  do {
    uint inner = 0;
    while (inner++ < 5 && simd_is_first()) {
      if (quad_broadcast_first(1.0f) >= max(1.0f, a[1])) { x = 1; break; }
    }
    if (simd_is_first()) { x = simd_xor(i); }
  } while (outer++ < 1 && lane <= 3);
  y[i] = x;
}
"""


def test_code_after_a_loop_belongs_to_the_outer_iteration():
    device = _core.open("cpu")
    pipeline = device.compile(AFTER_A_LOOP, fast_math=False).pipeline()
    assert pipeline.engine == "vectors"
    y = np.zeros(64, np.uint32)
    arguments = {"a": np.full(2, 5, np.float32), "y": y}
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=64, threads=64)])
    np.testing.assert_array_equal(y, np.where(np.arange(64) % 32 == 0, np.arange(64), 1))


PASSED_BY = """
#include <metal_stdlib>
using namespace metal;
kernel void passed_by(device const uint* order, device uint* y, constant uint& total,
                      uint2 at [[thread_position_in_grid]],
                      uint tid [[thread_index_in_threadgroup]]) {
  threadgroup uint shared[64];
  uint sum = 1;
  const uint i = at.y * 5 + at.x;
  switch (i) {
    case 0: {}
    case 5: { sum = y[2 * total + order[i]]; }
    default: break;
  }
  shared[tid] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[2 * total + order[i]] = shared[tid];
}
"""


def test_lanes_that_differ_in_a_switch_may_all_pass_it_by():
    """A lane without a thread once ran its cases, where all lanes did, and read anywhere."""
    device = _core.open("cpu")
    pipeline = device.compile(PASSED_BY).pipeline()
    assert pipeline.engine == "vectors"
    y = np.arange(120, dtype=np.uint32)
    arguments = {
        "order": np.arange(40, dtype=np.uint32),
        "y": y,
        "total": np.array([40], np.uint32),
    }
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=(5, 8), threads=(5, 8))])
    np.testing.assert_array_equal(y[:80], np.arange(80))
    np.testing.assert_array_equal(
        y[80:], np.where(np.isin(np.arange(40), (0, 5)), np.arange(80, 120), 1)
    )


# That `i < 25` is the same in every turn, LLVM finds out, and in doing so lost that the loop must not
# be unrolled: then the lanes of all turns voted together.
ONE_BY_ONE = """
kernel void left(device uint* y, constant uint& n, uint i [[thread_position_in_grid]]) {
  uint sum = 1, turn = 0;
  while (turn++ < 5 && i < 25) {
    if (simd_is_first()) { sum = uint((simd_vote::vote_t)simd_ballot(n != 33)); break; }
    sum *= 31;
  }
  y[i] = sum;
}
"""


def test_lanes_that_leave_a_counted_loop_separately_do_not_meet(device, compile_kernel):
    y = np.zeros(32, np.uint32)
    arguments = dict(y=y, n=np.array([32], np.uint32))
    pipeline = compile_kernel(ONE_BY_ONE)
    device.run([_core.Dispatch(pipeline, arguments, threadgroups=1, threads=32)])
    others = 31**5 % 2**32
    np.testing.assert_array_equal(y, [*(1 << np.arange(5)), *[others] * 20, *[1] * 7])


# Lanes that wait within a function are to catch up with those that wait behind its call.
CALLED_TWICE = """
__attribute__((noinline)) static uint both(uint a) {
  return quad_all(a != 7) ? simd_sum(a) : a;
}
kernel void called(device const uint* a, device uint* y, uint i [[thread_position_in_grid]]) {
  if (a[i] == 99) return;
  uint sum = both(a[i]);
  switch (sum % 3) { case 1: sum += both(sum); case 2: sum ^= 1; break; default: break; }
  y[i] = sum + uint((ulong)simd_ballot(true));
}
"""


@pytest.mark.parametrize("engine", ["vectors", "fibers"])
def test_lanes_within_a_function_catch_up(device, compile_kernel, monkeypatch, engine):
    monkeypatch.setenv(ENGINE_VARIABLE, engine)
    a = np.arange(3, 35, dtype=np.uint32)
    a[[2, 9, 17]] = 99
    here = a != 99
    first = both(a, here)
    again = here & (first % 3 == 1)
    sums = np.where(again, first + both(first, again), first)
    sums = np.where(np.isin(first % 3, (1, 2)), sums ^ 1, sums)
    ballot = sum(1 << lane for lane in range(32) if here[lane])
    y = np.zeros(32, np.uint32)
    pipeline = compile_kernel(CALLED_TWICE)
    device.run([_core.Dispatch(pipeline, dict(a=a, y=y), threadgroups=1, threads=32)])
    np.testing.assert_array_equal(y, np.where(here, (sums + ballot) % 2**32, 0))


def both(a, active):
    """Return the results of `both` for the lanes of a SIMD-group that call it."""
    by_quad = (a.reshape(8, 4) != 7).all(axis=1, where=active.reshape(8, 4))
    adds = np.repeat(by_quad, 4)
    return np.where(adds, a[active & adds].sum(), a)
