"""The front door: what metalbench does, from the bottom up, a few lines at a time."""

from __future__ import annotations

import numpy as np

from metalbench import _core

DOUBLE = """
#include <metal_stdlib>
using namespace metal;

kernel void twice(device const float* x, device float* y, constant uint& n,
                  uint i [[thread_position_in_grid]]) {
  if (i < n) y[i] = 2 * x[i];
}
"""

ROW_SUMS = """
#include <metal_stdlib>
using namespace metal;

[[kernel]] void row_sums(device const float* x [[buffer(0)]], device float* sums [[buffer(1)]],
                         uint row [[threadgroup_position_in_grid]],
                         uint tid [[thread_position_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float partial[4];
  float sum = simd_sum(x[row * 128 + tid]);
  if (lane == 0) partial[simdgroup] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (tid == 0) sums[row] = partial[0] + partial[1] + partial[2] + partial[3];
}
"""


def test_a_kernel_runs():
    device = _core.open()
    twice = device.compile(DOUBLE).pipeline()
    x = np.arange(1000, dtype=np.float32)
    y = np.zeros_like(x)
    arguments = {"x": x, "y": y, "n": 1000}
    device.run([_core.Dispatch(twice, arguments, threads_in_grid=1000, threads=256)])
    np.testing.assert_array_equal(y, 2 * x)


def test_threads_work_together():
    device = _core.open()
    x = np.random.default_rng(0).integers(0, 100, (50, 128)).astype(np.float32)
    sums = np.zeros(50, np.float32)
    pipeline = device.compile(ROW_SUMS).pipeline("row_sums")
    device.run([_core.Dispatch(pipeline, {"x": x, "sums": sums}, threadgroups=50, threads=128)])
    np.testing.assert_array_equal(sums, x.sum(axis=1))


def test_a_kernel_is_timed():
    device = _core.open()
    x = np.zeros(1000, np.float32)
    twice = device.compile(DOUBLE).pipeline()
    dispatch = _core.Dispatch(twice, {"x": x, "y": x, "n": 1000}, threads_in_grid=1000, threads=64)
    samples = device.sample([dispatch], max_pairs=20, warmup_ns=1e6, window_ns=1e5)
    assert samples.candidate_ns.shape == (20,)
    assert (samples.candidate_ns > 0).all()
