"""Tile copies of a SIMD-group on the cuda device, which all of its lanes make."""

from __future__ import annotations

import numpy as np
import pytest
from msl.test_async_copy import DECLARED, compute_expected, run_copies

from metalbench import _core

# 64 rows of 32 halves come by copies of 16 bytes, with a barrier before others read them.
TRANSPOSED = (
    DECLARED.replace("ESCAPE", "")
    + """
kernel void k(device const half* x, device half* y, constant uint& pitch,
              uint i [[thread_index_in_threadgroup]],
              uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup half tile[64 * 40];
  simdgroup_event events[2];
  for (uint part = 0; part < 2; ++part) {
    const uint row = 32 * simdgroup + 16 * part;
    events[part].event = __metal_simdgroup_async_copy_2d(
        sizeof(half), alignof(half), tile + row * 40, 40, 1, ulong2(32, 16), x + row * pitch, pitch,
        1, ulong2(32, 16), long2(0), 0);
  }
  simdgroup_event::wait(2, events);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint at = i; at < 64 * 32; at += 64) y[at] = tile[at % 64 * 40 + at / 64];
}
"""
)


@pytest.mark.parametrize("clamp", [0, 1])
@pytest.mark.parametrize(("columns", "rows"), [(8, 5), (6, 4), (1, 1), (8, 1), (4, 5)])
def test_tiles_are_copied_and_padded(device, columns, rows, clamp):
    got = run_copies(device, columns, rows, clamp)
    for mine, wanted in zip(got, compute_expected(columns, rows, clamp), strict=True):
        np.testing.assert_array_equal(mine, wanted)


# Rows of 36 halves do not begin at 16 bytes.
@pytest.mark.parametrize("pitch", [32, 40, 36])
def test_async_copy_copies_rows_at_any_offset(device, compiled, pitch):
    x = np.arange(64 * pitch, dtype=np.float16)
    y = np.zeros((32, 64), np.float16)
    arguments = {"x": x, "y": y, "pitch": pitch}
    device.run([_core.Dispatch(compiled(TRANSPOSED), arguments, threadgroups=1, threads=64)])
    np.testing.assert_array_equal(y, x.reshape(64, pitch)[:, :32].T)
