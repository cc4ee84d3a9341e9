"""Lanes that part, outside of loops or into loops of more or fewer turns, meet at the next call."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core
from metalbench.msl.engine import ENGINE_VARIABLE

KERNEL = """
kernel void catching_up(device const uint* a, device uint* y, device uint* z,
                        uint i [[thread_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]]) {{
  uint value = a[i];
  y[i] = 0;
  {parting}
  y[i] = simd_sum(1u);
  z[i] = value;
}}
"""
# Where LLVM puts the call behind all of it first: it makes the last block of a switch follow the
# others, and the block behind a loop before its body.
PARTING = {
    "switch": """switch (value % 7) {
      case 6: case 5: value = simd_any(lane > 40) ? i : lane; break;
      case 1: value = 2;
      default: value = value * 31 + 7; break;
    }""",
    "switch, a call in its last case": """switch (value % 7) {
      case 6: value = 2; break;
      default: value = simd_max(value); break;
      case 3: value = simd_sum(value); break;
    }""",
    "loop": """for (uint k = 0; k < a[i] % 6; ++k) value = simd_prefix_exclusive_sum(lane < 21 ? k : i);""",
    "loop behind a branch": """if (lane % 3 == 0) value = simd_shuffle(value, 0);
    for (uint k = 0; k < a[i] % 6; ++k) z[i] = simd_broadcast(z[i] * value, 3);""",
    "loops within a branch": """if (value % 2 == 0) {
      for (uint k = 0; k < value; ++k) z[i] += simd_sum(k);
      for (uint k = value; k > 3; --k) z[i] += simd_max(k);
    }""",
    "branch within a branch": """if (value > 3) {
      uint own[4] = {};
      own[value % 4] = value;
      if (value > 9) value = simd_is_first() ? value : own[lane % 4];
    } else {
      value = value < 1 ? value : 0;
    }""",
}


def parted(device, compile_kernel, parting, **options):
    """Return the number of lanes that meet after it, as each of them counts them."""
    pipeline = compile_kernel(KERNEL.format(parting=parting), **options)
    a = np.random.default_rng(1).integers(0, 14, 64).astype(np.uint32)
    y, z = np.zeros(64, np.uint32), np.ones(64, np.uint32)
    arguments = {"a": a, "y": y, "z": z}
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=64, threads=64)])
    return y


@pytest.mark.parametrize("way", ["fibers", "vectors"])
def test_divergent_lanes_reconverge_after_a_branch(device, compile_kernel, monkeypatch, way):
    monkeypatch.setenv(ENGINE_VARIABLE, way)
    found = {name: parted(device, compile_kernel, each) for name, each in PARTING.items()}
    assert {name: set(each) for name, each in found.items()} == {key: {32} for key in PARTING}


def test_divergent_lanes_reconverge_in_checked_builds(device, compile_kernel):
    parting = {name: PARTING[name] for name in ("switch", "loop behind a branch")}
    found = {name: parted(device, compile_kernel, parting[name], checked=True) for name in parting}
    assert {name: set(each) for name, each in found.items()} == {key: {32} for key in parting}


def test_returned_lanes_are_not_awaited(device, compile_kernel, monkeypatch):
    monkeypatch.setenv(ENGINE_VARIABLE, "fibers")
    first = "if (simd_is_first()) return;\n" + PARTING["loop"]
    y = parted(device, compile_kernel, first)
    np.testing.assert_array_equal(y, np.where(np.arange(64) % 32 == 0, 0, 31))


# Some return, the others take different numbers of turns: in each turn all that are left meet twice, of
# which the second time some of them.
LEAVING = """
kernel void leaving(device const uint* a, device uint* y,
                    uint i [[thread_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]]) {
  if (a[i] > 9) return;
  uint k = 0, found = 1;
  while (k < a[i]) {
    found = found * 31 + simd_sum(lane + 1);
    if ((found + lane) % 3 != 0) found = found * 7 + simd_max(lane * k + 1);
    ++k;
  }
  y[i] = found;
}
"""


def left(a):
    """Return the expected results if lanes of a SIMD-group meet in each of their iterations."""
    y = np.zeros(len(a), np.uint32)
    for start in range(0, len(a), 32):
        lanes = {at: 1 for at in range(32) if a[start + at] <= 9}
        for k in range(9):
            inside = [at for at in lanes if k < a[start + at]]
            sum_ = sum(at + 1 for at in inside)
            for at in inside:
                lanes[at] = (lanes[at] * 31 + sum_) % 2**32
            some = [at for at in inside if (lanes[at] + at) % 2**32 % 3 != 0]
            most = max((at * k + 1 for at in some), default=0)
            for at in some:
                lanes[at] = (lanes[at] * 7 + most) % 2**32
        for at, value in lanes.items():
            y[start + at] = value
    return y


@pytest.mark.parametrize("way", ["fibers", "vectors"])
def test_remaining_lanes_meet_in_each_iteration_after_a_return(
    device, compile_kernel, monkeypatch, way
):
    monkeypatch.setenv(ENGINE_VARIABLE, way)
    pipeline = compile_kernel(LEAVING)
    a = np.random.default_rng(2).integers(0, 14, 128).astype(np.uint32)
    y = np.zeros(128, np.uint32)
    device.run([_core.Dispatch(pipeline, {"a": a, "y": y}, threads_in_grid=128, threads=64)])
    np.testing.assert_array_equal(y, left(a))
