"""Threadgroups that wait for each other, and results that do not depend on the number of cores."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from metalbench import _core

pytestmark = pytest.mark.usefixtures("both_ways")


@pytest.mark.parametrize("threads", [1, 32, 256])
@pytest.mark.parametrize("groups", [2, 8, 24])
def test_resident_threadgroups_can_wait_for_each_other(device, compile_kernel, groups, threads):
    pipeline = compile_kernel(
        """
        kernel void grid_barrier(device atomic_uint* arrived, device uint* x, device uint* y,
                                 uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                                 uint n [[threads_per_grid]], uint groups [[threadgroups_per_grid]]) {
          x[i] = i + 1;
          threadgroup_barrier(mem_flags::mem_device);
          if (t == 0) {
            atomic_fetch_add_explicit(arrived, 1u, memory_order_relaxed);
            while (atomic_load_explicit(arrived, memory_order_relaxed) < groups) {}
          }
          threadgroup_barrier(mem_flags::mem_device);
          y[i] = x[n - 1 - i];
        }
        """
    )
    arrived = np.zeros(1, np.uint32)
    x, y = (np.zeros(groups * threads, np.uint32) for _ in range(2))
    arguments = {"arrived": arrived, "x": x, "y": y}
    device.run([_core.Dispatch(pipeline, arguments, threadgroups=groups, threads=threads)])
    np.testing.assert_array_equal(y, np.arange(groups * threads, 0, -1))


def test_a_scan_may_look_back_over_many_threadgroups(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void scan(device const uint* x, device uint* y, device atomic_uint* sums, device atomic_uint* turn,
                         uint g [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
          threadgroup uint before;
          uint inclusive = simd_prefix_inclusive_sum(x[g * 32 + t]);
          uint total = simd_max(inclusive);
          if (t == 0) {
            while (atomic_load_explicit(turn, memory_order_relaxed) != g) {}
            before = atomic_fetch_add_explicit(sums, total, memory_order_relaxed);
            atomic_store_explicit(turn, g + 1, memory_order_relaxed);
          }
          threadgroup_barrier(mem_flags::mem_threadgroup);
          y[g * 32 + t] = before + inclusive;
        }
        """
    )
    x = np.random.default_rng(0).integers(0, 9, 32 * 500).astype(np.uint32)
    y = np.zeros_like(x)
    arguments = {"x": x, "y": y, "sums": np.zeros(1, np.uint32), "turn": np.zeros(1, np.uint32)}
    device.run([_core.Dispatch(pipeline, arguments, threadgroups=500, threads=32)])
    np.testing.assert_array_equal(y, np.cumsum(x))


@pytest.mark.stays_on_fibers
def test_threads_of_one_simdgroup_can_wait_for_each_other(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void relay(device uint* order, uint t [[thread_index_in_threadgroup]]) {
          threadgroup atomic_uint turn;
          if (t == 0) atomic_store_explicit(&turn, 63u, memory_order_relaxed);
          threadgroup_barrier(mem_flags::mem_threadgroup);
          while (atomic_load_explicit(&turn, memory_order_relaxed) != t) {}
          order[63 - t] = t;
          atomic_store_explicit(&turn, t - 1, memory_order_relaxed);
        }
        """
    )
    order = np.zeros(64, np.uint32)
    device.run([_core.Dispatch(pipeline, {"order": order}, threadgroups=1, threads=64)])
    np.testing.assert_array_equal(order, np.arange(63, -1, -1))


def test_an_endless_wait_is_ended(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void forever(device atomic_uint* x, uint t [[thread_index_in_threadgroup]]) {
          threadgroup_barrier(mem_flags::mem_threadgroup);
          while (atomic_load_explicit(x, memory_order_relaxed) == 0) {}
        }
        """
    )
    x = np.zeros(1, np.uint32)
    with pytest.raises(_core.TimeLimitExceeded):
        device.run(
            [_core.Dispatch(pipeline, {"x": x}, threadgroups=40, threads=64)], time_limit=0.3
        )


SUMS = """
import hashlib, numpy as np
from metalbench import _core
device = _core.open()
source = '''
#include <metal_stdlib>
using namespace metal;
kernel void sums(device const float* x, device float* y, uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
  threadgroup float tile[256];
  tile[t] = simd_prefix_inclusive_sum(exp(x[i]));
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0;
  for (uint k = 0; k < 256; ++k) sum += tile[k] * simd_sum(tile[(k + t) % 256]);
  y[i] = sum;
}'''
x = np.random.default_rng(0).standard_normal(256 * 64).astype(np.float32)
y = np.zeros_like(x)
device.run([_core.Dispatch(device.compile(source).pipeline(), {"x": x, "y": y}, threads_in_grid=x.size, threads=256)])
print(device.cores, hashlib.sha256(y.tobytes()).hexdigest())
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_the_number_of_cores_changes_no_bit():
    cores = sorted(os.sched_getaffinity(0))
    answers = set()
    for some in (cores[:1], cores):
        choose = f"import os; os.sched_setaffinity(0, {some})\n"
        answer = subprocess.run(
            [sys.executable, "-c", choose + SUMS], capture_output=True, text=True, check=True
        )
        count, digest = answer.stdout.split()
        assert int(count) == len(some)
        answers.add(digest)
    assert len(answers) == 1
    assert hashlib.sha256(b"").hexdigest() not in answers
