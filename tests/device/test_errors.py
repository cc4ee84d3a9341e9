"""Kernels that go wrong: what is said, and that the device stays usable."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from metalbench import _core


def run(device, pipeline, threads=64, groups=4, time_limit=10.0, **arguments):
    dispatch = _core.Dispatch(pipeline, arguments, threadgroups=groups, threads=threads)
    return device.run([dispatch], time_limit=time_limit)


@pytest.fixture(autouse=True)
def the_device_still_works(device, compile_kernel):
    yield
    pipeline = compile_kernel(
        "kernel void ok(device uint* x, uint i [[thread_position_in_grid]]) { x[i] = simd_sum(1u); }"
    )
    x = np.zeros(256, np.uint32)
    run(device, pipeline, x=x)
    assert (x == 32).all()


def test_a_compile_error_has_the_line_of_the_user(device):
    source = "#include <metal_stdlib>\nusing namespace metal;\nkernel void f(device float* x) {\n  x[0] = nonsense;\n}\n"
    with pytest.raises(_core.CompileError, match=r"broken\.metal:4:\d+: error: .*nonsense"):
        device.compile(source, filename="broken.metal").pipeline()


def test_an_unknown_function(device):
    library = device.compile("kernel void soft(device float* x) { x[0] = 1; }")
    with pytest.raises(_core.Error, match="hard.*soft"):
        library.pipeline("hard")


@pytest.mark.parametrize(
    "body",
    ["while (true) { if (x[1] > 0) break; }", "while (true) { simd_sum(1); if (x[1] > 0) break; }"],
)
def test_a_hang_is_ended_by_the_time_limit(device, compile_kernel, body):
    pipeline = compile_kernel(f"kernel void hang(device volatile float* x) {{ {body} x[0] = 1; }}")
    with pytest.raises(_core.TimeLimitExceeded, match=r"time limit of 0\.2 s reached"):
        run(device, pipeline, time_limit=0.2, x=np.zeros(4, np.float32))


def test_a_wild_pointer_is_reported_and_survived(device, compile_kernel):
    pipeline = compile_kernel(
        "kernel void wild(device float* x, constant ulong& far, uint i [[thread_position_in_grid]]) { x[far + i] = 1; }"
    )
    with pytest.raises(_core.KernelFault, match="invalid address"):
        run(device, pipeline, x=np.zeros(4, np.float32), far=1 << 45)


def test_endless_recursion_is_reported(device, compile_kernel):
    pipeline = compile_kernel(
        """
        static int deep(device volatile int* x, int n) { volatile int local[64]; local[n % 64] = x[0]; return n == x[1] ? 0 : deep(x, n + 1) + local[n % 64]; }
        kernel void f(device volatile int* x) { x[2] = deep(x, 1); }
        """
    )
    with pytest.raises(_core.KernelFault, match="stack overflow"):
        run(device, pipeline, x=np.zeros(4, np.int32))


OUT_OF_BOUNDS = """
kernel void f(device const float* x, device float* y, constant uint& n, uint i [[thread_position_in_grid]]) {
  if (i < n)
    y[i] = x[i + 1];
}
"""


def test_a_checked_build_names_the_buffer_the_line_and_the_thread(device, compile_kernel):
    x, y = np.zeros(100, np.float32), np.zeros(100, np.float32)
    run(device, compile_kernel(OUT_OF_BOUNDS), x=x, y=y, n=99)
    checked = compile_kernel(OUT_OF_BOUNDS, checked=True)
    run(device, checked, x=x, y=y, n=99)
    with pytest.raises(_core.KernelFault) as error:
        run(device, checked, x=x, y=y, n=100)
    message = str(error.value)
    assert "test.metal:6" in message
    assert "read of 4 bytes past the end of `x`: at byte 400 of 400" in message
    assert "thread (35, 0, 0) of threadgroup (1, 0, 0)" in message


def test_a_checked_build_limits_accesses_to_a_slice(device, compile_kernel):
    checked = compile_kernel(OUT_OF_BOUNDS, checked=True)
    whole = device.allocate(4096)
    with pytest.raises(_core.KernelFault, match="past the end of `x`: at byte 400 of 400"):
        run(device, checked, x=whole.slice(1024, 400), y=np.zeros(100, np.float32), n=100)


RACE = """
kernel void f(device float* x, uint t [[thread_position_in_threadgroup]]) {
  threadgroup float tile[64];
  tile[t] = x[t];
  BARRIER
  x[t] = tile[63 - t];
}
"""


def test_a_checked_build_finds_a_missing_barrier(device, compile_kernel):
    barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);"
    x = np.zeros(64, np.float32)
    run(device, compile_kernel(RACE.replace("BARRIER", barrier), checked=True), groups=1, x=x)
    with pytest.raises(
        _core.KernelFault,
        match=r"test\.metal:\d+: (race|read of threadgroup memory that no thread)",
    ):
        run(device, compile_kernel(RACE.replace("BARRIER", ""), checked=True), groups=1, x=x)


def test_a_checked_build_finds_a_divergent_barrier(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void f(device float* x, uint t [[thread_position_in_threadgroup]]) {
          if (t == 5) return;
          threadgroup_barrier(mem_flags::mem_threadgroup);
          x[t] = 1;
        }
        """,
        checked=True,
    )
    with pytest.raises(
        _core.KernelFault, match=r"test\.metal:6: .*thread 5 of the threadgroup has returned"
    ):
        run(device, pipeline, x=np.zeros(64, np.float32))


def test_a_checked_build_finds_unwritten_threadgroup_memory(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void f(device float* x, uint t [[thread_position_in_threadgroup]]) {
          threadgroup float tile[65];
          tile[t] = 1;
          threadgroup_barrier(mem_flags::mem_threadgroup);
          x[t] = tile[t + 1];
        }
        """,
        checked=True,
    )
    with pytest.raises(
        _core.KernelFault, match="that no thread of the group has written: byte 256"
    ):
        run(device, pipeline, x=np.zeros(64, np.float32))


ENDLESS = """
import os, signal, threading, numpy as np
from metalbench import _core
device = _core.open()
source = "kernel void hang(device volatile float* x) { x[0] = 1; while (true) { if (x[1] > 0) break; } }"
x = np.zeros(4, np.float32)
dispatch = _core.Dispatch(device.compile(source).pipeline(), {"x": x}, threadgroups=4, threads=32)

def press_ctrl_c_once_it_runs():
    while x[0] == 0:
        os.sched_yield()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press_ctrl_c_once_it_runs).start()
try:
    device.run([dispatch], time_limit=60)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_a_running_kernel():
    answer = subprocess.run(
        [sys.executable, "-c", ENDLESS], capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "interrupted\n", "")
