"""The loop over threads of a kernel that needs no fibers, against one fiber a thread."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

PLACES = """
#include <metal_stdlib>
using namespace metal;
kernel void places(device uint* out, constant uint3& grid, uint3 p [[thread_position_in_grid]],
                   ushort3 t [[thread_position_in_threadgroup]],
                   uint index [[thread_index_in_threadgroup]],
                   uint3 size [[threads_per_threadgroup]],
                   uint3 group [[threadgroup_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  BARRIER
  uint i = (p.z * grid.y + p.y) * grid.x + p.x;
  uint seen = (t.x * 31 + t.y * 17 + t.z) * 1000 + index;
  out[i] += seen * 7 + (size.x * 5 + size.y * 3 + size.z) * 100000
          + group.x * 13 + group.y * 11 + lane + simdgroup * 1000000;
}
"""

SIZES = [((100, 1, 1), (32, 1, 1)), ((37, 11, 3), (8, 4, 2)), ((5, 70, 1), (1, 64, 1))]


def _run(device: _core.Device, barrier: str, grid: tuple, threads: tuple) -> np.ndarray:
    pipeline = device.compile(PLACES.replace("BARRIER", barrier)).pipeline()
    out = np.zeros(grid[::-1], np.uint32)
    arguments = {"out": out, "grid": np.array([*grid, 0], np.uint32)}
    dispatch = _core.Dispatch(pipeline, arguments, threads_in_grid=grid, threads=threads)
    device.run([dispatch])
    return out


@pytest.mark.parametrize(("grid", "threads"), SIZES)
def test_loop_and_fibers_agree(cpu, grid, threads):
    loop = _run(cpu, "", grid, threads)
    fibers = _run(cpu, "threadgroup_barrier(mem_flags::mem_none);", grid, threads)
    np.testing.assert_array_equal(loop, fibers)


def test_a_loop_leaves_the_group_of_the_next_kernel_alone(cpu):
    _run(cpu, "", (256, 1, 1), (64, 1, 1))
    barrier = "threadgroup_barrier(mem_flags::mem_none);"
    after = _run(cpu, barrier, (3, 1, 1), (1, 1, 1))
    np.testing.assert_array_equal(after.ravel(), 9 * 10**5 + np.arange(3) * 13)


def test_loop_over_merged_rows(cpu):
    source = """
        #include <metal_stdlib>
        using namespace metal;
        kernel void f(device const float* x, device float* y, constant float& scale,
                      uint2 p [[thread_position_in_grid]], uint2 n [[threads_per_grid]]) {
          y[p.y * n.x + p.x] = x[p.y * n.x + p.x] * scale + p.y;
        }
    """
    x = np.random.default_rng(1).normal(size=(7, 1001)).astype(np.float32)
    y = np.zeros_like(x)
    dispatch = _core.Dispatch(
        cpu.compile(source).pipeline(),
        {"x": x, "y": y, "scale": 2.0},
        threads_in_grid=(1001, 7, 1),
        threads=(96, 1, 1),
    )
    cpu.run([dispatch])
    np.testing.assert_array_equal(y, x * 2 + np.arange(7, dtype=np.float32)[:, None])
