"""State that checked runs share, and the memory that they need for it."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest

from metalbench import _core
from metalbench.sandbox.executors import run_kernels_in_executors


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


@pytest.mark.parametrize("in_executor", [False, True])
def test_a_fault_in_a_header_has_the_line_of_its_call(
    device, compile_kernel, tmp_path, in_executor
):
    (tmp_path / "own.h").write_text(
        "inline float pick(device const float* x, uint i) {\n  return x[i];\n}\n"
    )
    source = """
        #include "own.h"
        kernel void f(device const float* x, device float* y,
                      uint i [[thread_position_in_grid]]) {
          y[i] = pick(x, i);
          y[i] += pick(x, i + 1);
        }
        """
    with run_kernels_in_executors() if in_executor else nullcontext():
        pipeline = compile_kernel(source, checked=True, include_dirs=[str(tmp_path)])
        arrays = {name: np.zeros(64, np.float32) for name in "xy"}
        dispatch = _core.Dispatch(pipeline, arrays, threadgroups=1, threads=64)
        with pytest.raises(_core.KernelFault) as error:
            device.run([dispatch])
        (finding,) = device.check([dispatch])
    message = str(error.value)
    header = tmp_path / "own.h"
    assert f"[f] {header}:2: read of 4 bytes past the end of `x`" in message
    assert message.endswith("; called at test.metal:8")
    assert [(each.file, each.line) for each in finding.frames] == [
        (str(header), 2),
        ("test.metal", 8),
    ]
