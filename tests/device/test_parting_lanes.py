"""Loops of which lanes take turns of their own: `continue` from several places."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

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
def test_turns_that_some_lanes_skip_change_nothing_for_them(device, compile_kernel, turns):
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
