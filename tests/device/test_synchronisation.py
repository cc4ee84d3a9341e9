"""Barriers, SIMD-group functions, divergence and atomics."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

pytestmark = pytest.mark.usefixtures("both_ways")


def run(device, pipeline, arguments, threads, groups=1, **options):
    device.run(
        [_core.Dispatch(pipeline, arguments, threadgroups=groups, threads=threads, **options)]
    )


@pytest.mark.parametrize("threads", [1, 31, 32, 33, 100, 1024])
def test_a_barrier_makes_every_write_visible(device, compile_kernel, threads):
    pipeline = compile_kernel(
        """
        kernel void reverse(device uint* x, uint t [[thread_position_in_threadgroup]],
                            uint n [[threads_per_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
          threadgroup uint tile[1024];
          for (uint round = 0; round < 3; ++round) {
            tile[t] = x[g * n + t];
            threadgroup_barrier(mem_flags::mem_threadgroup);
            x[g * n + t] = tile[n - 1 - t];
            threadgroup_barrier(mem_flags::mem_threadgroup);
          }
        }
        """
    )
    x = np.arange(20 * threads, dtype=np.uint32).reshape(20, threads)
    expected = x[:, ::-1].copy()
    run(device, pipeline, {"x": x}, threads, groups=20)
    np.testing.assert_array_equal(x, expected)


def test_dynamic_threadgroup_memory(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void f(device uint* x, threadgroup uint* a [[threadgroup(0)]], threadgroup uint* b [[threadgroup(1)]],
                      uint t [[thread_position_in_threadgroup]]) {
          a[t] = t; b[t] = 1000 + t;
          threadgroup_barrier(mem_flags::mem_threadgroup);
          x[t] = a[63 - t] + b[t ^ 1];
        }
        """
    )
    x = np.zeros(64, np.uint32)
    run(device, pipeline, {"x": x}, 64, threadgroup_bytes={"a": 256, "b": 256})
    t = np.arange(64)
    np.testing.assert_array_equal(x, 63 - t + 1000 + (t ^ 1))


@pytest.mark.parametrize("threads", [32, 64, 45])
def test_simd_sum_ignores_missing_lanes(device, compile_kernel, threads):
    pipeline = compile_kernel(
        "kernel void f(device uint* x, uint t [[thread_position_in_threadgroup]]) { x[t] = simd_sum(1u); }"
    )
    x = np.zeros(threads, np.uint32)
    run(device, pipeline, {"x": x}, threads)
    lanes = np.minimum(32, threads - np.arange(threads) // 32 * 32)
    np.testing.assert_array_equal(x, lanes)


def test_diverged_lanes_meet_only_lanes_of_their_branch(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void f(device int* x, uint t [[thread_position_in_threadgroup]]) {
          int r;
          if (t < 16) r = simd_sum(1); else r = simd_sum(2);
          x[t] = r + simd_sum(100);
        }
        """
    )
    x = np.zeros(32, np.int32)
    run(device, pipeline, {"x": x}, 32)
    np.testing.assert_array_equal(x, [3216] * 16 + [3232] * 16)


def test_returned_lanes_are_not_active(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void f(device int* x, uint t [[thread_position_in_threadgroup]]) {
          if (t % 3 == 0) return;
          x[t] = simd_sum(1);
        }
        """
    )
    x = np.zeros(32, np.int32)
    run(device, pipeline, {"x": x}, 32)
    np.testing.assert_array_equal(x, np.where(np.arange(32) % 3 == 0, 0, 21))


def test_lanes_that_leave_a_loop_wait_after_it(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void f(device int* x, uint t [[thread_position_in_threadgroup]]) {
          int seen = 0;
          for (uint i = 0; i <= t % 4; ++i) seen += simd_sum(1);
          x[t] = seen * 100 + simd_sum(1);
        }
        """
    )
    x = np.zeros(32, np.int32)
    run(device, pipeline, {"x": x}, 32)
    active = np.cumsum([32, 24, 16, 8])
    np.testing.assert_array_equal(x, active[np.arange(32) % 4] * 100 + 32)


def test_atomics_across_threadgroups(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void histogram(device const uint* x, device atomic_uint* bins, device atomic_float* sum,
                              uint i [[thread_position_in_grid]]) {
          atomic_fetch_add_explicit(&bins[x[i]], 1u, memory_order_relaxed);
          atomic_fetch_add_explicit(sum, 0.5f, memory_order_relaxed);
        }
        """
    )
    x = np.random.default_rng(1).integers(0, 8, 64 * 256).astype(np.uint32)
    bins, total = np.zeros(8, np.uint32), np.zeros(1, np.float32)
    run(device, pipeline, {"x": x, "bins": bins, "sum": total}, 256, groups=64)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=8))
    assert total[0] == 64 * 128


def test_results_do_not_change_from_run_to_run(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void f(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
          y[i] = simd_prefix_inclusive_sum(x[i]) + simd_sum(x[i]) * simd_shuffle_xor(x[i], 5);
        }
        """
    )
    x = np.random.default_rng(2).standard_normal(64 * 1024).astype(np.float32)
    results = []
    for _ in range(3):
        y = np.zeros_like(x)
        run(device, pipeline, {"x": x, "y": y}, 1024, groups=64)
        results.append(y.tobytes())
    assert len(set(results)) == 1


@pytest.mark.parametrize("tile", [8, 64])
def test_simdgroup_matrices_multiply(device, compile_kernel, tile):
    pipeline = compile_kernel(
        """
        kernel void mm(device const float* a, device const float* b, device float* c, constant uint& n) {
          for (uint i = 0; i < n; i += 8) {
            for (uint j = 0; j < n; j += 8) {
              simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8>(0.0f), left, right;
              for (uint k = 0; k < n; k += 8) {
                simdgroup_load(left, a + i * n + k, n);
                simdgroup_load(right, b + k * n + j, n);
                simdgroup_multiply_accumulate(sum, left, right, sum);
              }
              simdgroup_store(sum, c + i * n + j, n);
            }
          }
        }
        """
    )
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, (tile, tile)).astype(np.float32) for _ in range(2))
    c = np.zeros((tile, tile), np.float32)
    run(device, pipeline, {"a": a, "b": b, "c": c, "n": tile}, 32)
    np.testing.assert_array_equal(c, a @ b)


def test_branches_on_the_lane_do_not_split_a_meeting(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void f(device const float* x, device float* y, uint t [[thread_index_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]]) {
          threadgroup float part[8];
          float sum = simd_sum(x[t]);
          if (lane == 0) part[s] = sum;
          threadgroup_barrier(mem_flags::mem_threadgroup);
          float total = simd_sum(lane < 8 ? part[lane] : 0.0f);
          float r;
          if (lane < 16) r = simd_sum(1.0f); else r = simd_sum(2.0f);
          y[t] = total + r * 1000;
        }
        """
    )
    x = (np.arange(256) % 7).astype(np.float32)
    y = np.zeros_like(x)
    run(device, pipeline, {"x": x, "y": y}, 256)
    np.testing.assert_array_equal(y, x.sum() + np.where(np.arange(256) % 32 < 16, 16e3, 32e3))
