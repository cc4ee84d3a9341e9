"""State that checked runs share, and the memory that they need for it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from metalbench import _core


def test_a_kernel_may_be_run_many_times(device, compile_kernel):
    if not device.checked_builds:
        pytest.skip("no checked builds on this device")
    pipeline = compile_kernel(
        """
        kernel void f(device float* y, uint i [[thread_position_in_grid]]) {
          y[i] = y[i] + 1;
          threadgroup_barrier(mem_flags::mem_device);
          y[i ^ 1] += 1;
        }
        """,
        checked=True,
    )
    y = np.zeros(256, np.float32)
    dispatch = _core.Dispatch(pipeline, {"y": y}, threadgroups=4, threads=64)
    backwards = _core.Dispatch(pipeline, {"y": y}, threadgroups=2, threads=128)
    device.sample([dispatch, backwards], max_pairs=20, warmup_ns=1e6, window_ns=1e6)


def test_a_checked_run_uses_memory_only_for_what_it_touches():
    """1 GiB of buffer, of which 1 MiB is written."""
    answer = subprocess.run(
        [sys.executable, "-c", SPARSE], capture_output=True, text=True, check=True
    )
    assert int(answer.stdout) < 128 << 20


SPARSE = """
import resource, sys
from metalbench import _core
device = _core.open("cpu")
source = "kernel void f(device float* y, uint i [[thread_position_in_grid]]) { y[i] = i; }"
pipeline = device.compile(source, checked=True).pipeline()
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
small, large = device.allocate(4096), device.allocate(1 << 30)
for y, count in ((small, 1024), (large, 1 << 18)):
    before = peak()
    device.run([_core.Dispatch(pipeline, {"y": y}, threads_in_grid=count, threads=256)])
print(peak() - before)
"""
