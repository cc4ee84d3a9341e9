"""Tables of pointers to threadgroup memory, run on the cuda device."""

from __future__ import annotations

import numpy as np

from metalbench import _core

TABLE = """
kernel void k(device const float* x, device float* y, uint i [[thread_index_in_threadgroup]]) {
  threadgroup float memory[256];
  threadgroup float* parts[4] = {memory, memory + 64, memory + 128, memory + 192};
  for (uint part = 0; part < 4; ++part) parts[part][i] = x[i] + part;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = parts[i & 3][63 - i];
}"""


def test_a_table_of_threadgroup_pointers(device, compiled):
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    dispatch = _core.Dispatch(compiled(TABLE), {"x": x, "y": y}, threads_in_grid=64, threads=64)
    device.run([dispatch])
    np.testing.assert_array_equal(y, x[::-1] + np.arange(64) % 4)
