"""Large private memory: there is room for it, or an error says what is too much."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from metalbench import _core

LIMIT = 220 * 1024
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
ARRAY = """
kernel void big(device float* x, device float* y, uint i [[thread_position_in_grid]]) {{
  float own[{count}];
  for (uint k = 0; k < {count}; ++k) own[k] = x[k % 64] + i;
  {barrier}
  y[i] = own[int(x[i % 64])] + own[{count} - 1 - int(x[0])];
}}
"""
CHAIN = """
__attribute__((noinline)) static float last(device volatile float* x, int n) {{
  float own[{count}];
  for (int k = 0; k < {count}; ++k) own[k] = x[k % 64] + n;
  return own[int(x[1])] + own[{count} - 1];
}}
__attribute__((noinline)) static float middle(device volatile float* x, int n) {{
  float own[{count}];
  for (int k = 0; k < {count}; ++k) own[k] = x[k % 64] + n;
  return own[int(x[1])] + last(x, n + 1) + own[{count} - 1];
}}
kernel void chain(device volatile float* x, device float* y, uint i [[thread_position_in_grid]]) {{
  {barrier}
  y[i] = middle(x, i);
}}
"""


def run(device, pipeline, threads, groups=4):
    x, y = np.arange(64, dtype=np.float32), np.zeros(max(64, 4 * threads), np.float32)
    dispatch = _core.Dispatch(pipeline, {"x": x, "y": y}, threadgroups=groups, threads=threads)
    device.run([dispatch])
    return y


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("barrier", ["", BARRIER])
@pytest.mark.parametrize("kilobytes", [230, 260, 512, 1024])
def test_a_frame_beyond_the_stack_is_a_compile_error(
    device, compile_kernel, kilobytes, barrier, checked
):
    if device.kind != "cpu":
        pytest.skip("the limit is the cpu device's own")
    with pytest.raises(_core.CompileError) as error:
        compile_kernel(ARRAY.format(count=kilobytes * 256, barrier=barrier), checked=checked)
    message = str(error.value)
    assert f"[big] private memory: expected at most {LIMIT} bytes (220 KiB) a thread" in message
    (frame,) = map(int, re.findall(r"a frame of (\d+) bytes", message))
    assert kilobytes * 1024 <= frame < kilobytes * 1024 + 4096


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("barrier", ["", BARRIER])
@pytest.mark.parametrize("kilobytes", [16, 214])
def test_a_frame_below_the_limit_has_room_on_every_stack(
    device, compile_kernel, kilobytes, barrier, checked
):
    count = kilobytes * 256
    pipeline = compile_kernel(ARRAY.format(count=count, barrier=barrier), checked=checked)
    threads = 96
    y = run(device, pipeline, threads)
    i = np.arange(4 * threads)
    np.testing.assert_array_equal(y, (i % 64 + i) + (63 + i))


@pytest.mark.parametrize(("barrier", "checked"), [(BARRIER, False), (BARRIER, True), ("", True)])
@pytest.mark.parametrize("kilobytes", [126, 150, 214])
def test_functions_that_call_each_other_need_room_together(
    device, compile_kernel, kilobytes, barrier, checked
):
    """Each has room alone. A large frame must not step over the page that guards the next stack.

    Without a barrier a plain build runs on one stack, which may have more room than the others.
    """
    if device.kind != "cpu":
        pytest.skip("the limit is the cpu device's own")
    pipeline = compile_kernel(CHAIN.format(count=kilobytes * 256, barrier=barrier), checked=checked)
    with pytest.raises(_core.KernelFault) as error:
        run(device, pipeline, 1024)
    assert "[chain] " in str(error.value)
    assert "stack overflow: the functions that one thread is in take more than 220 KiB" in str(
        error.value
    )


@pytest.mark.parametrize("checked", [False, True])
def test_a_chain_of_calls_that_has_room(device, compile_kernel, checked):
    pipeline = compile_kernel(CHAIN.format(count=100 * 256, barrier=BARRIER), checked=checked)
    y = run(device, pipeline, 64)
    i = np.arange(256)
    np.testing.assert_array_equal(y, 2 * (1 + i) + 1 + 2 * (63 + i) + 1)


ENDLESS = """
__attribute__((noinline)) static float deep(device float* x, device float* y, int n) {{
  volatile float own[{words}];
  for (int k = 0; k < {words}; ++k) own[k] = x[(k + n) % 64];
  y[n % 64] = own[n % {words}];
  return n == int(x[1]) - 7 ? 0 : deep(x, y, n + 1) + own[(n + 3) % {words}];
}}
kernel void f(device float* x, device float* y) {{ y[0] = deep(x, y, 0); }}
"""


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("words", [1, 24, 333, 20_000])
def test_recursion_ends_at_any_end_of_the_stack(device, compile_kernel, words, checked):
    """Checks run on the same stack: they must not begin what they have no room for."""
    pipeline = compile_kernel(ENDLESS.format(words=words), checked=checked)
    for _ in range(3):
        with pytest.raises(_core.KernelFault, match="stack overflow"):
            run(device, pipeline, 1, groups=1)


def test_an_overflow_does_not_end_the_process():
    """The frame of the callee, first touched at its far end, would lie in the next thread's stack."""
    answer = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == ["overflow"] * 4


ALONE = f"""
import numpy as np
from metalbench import _core
device = _core.open("cpu")
source = '''#include <metal_stdlib>
using namespace metal;
{CHAIN.format(count=200 * 256, barrier=BARRIER)}'''
for checked in (False, True):
    pipeline = device.compile(source, checked=checked).pipeline()
    for threads in (64, 1024):
        x, y = np.zeros(64, np.float32), np.zeros(threads, np.float32)
        try:
            device.run([_core.Dispatch(pipeline, dict(x=x, y=y), threadgroups=1, threads=threads)])
        except _core.KernelFault as fault:
            print("overflow" if "stack overflow" in str(fault) else fault)
"""
