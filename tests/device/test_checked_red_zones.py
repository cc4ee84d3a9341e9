"""Private memory next to a variable, through pointers without known bounds; each with its clean twin."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

KERNEL = """
static float sum(thread const float* from, int count) {{
  float s = 0;
  for (int i = 0; i < count; ++i) s += from[i];
  return s;
}}
static void put(thread float* to, int at, float value) {{ to[at] = value; }}
kernel void f(device int* k, device float* y, uint t [[thread_position_in_threadgroup]]) {{
{body}
}}
"""
K = [7, -3, 0, 4, 33, 5, 2, 1]
FILLED = "float a[5]; for (int i = 0; i < 5; ++i) a[i] = k[i]; "

# what is wrong, what is not, what the run says, the line that does it
CASES = {
    "read past the end": (
        FILLED + "y[t] = sum(a, k[0]);",
        FILLED + "y[t] = sum(a, k[5]);",
        "read of 4 bytes past the end of `a`: at byte 20 of 20, in private memory",
        6,
    ),
    "write past the end": (
        FILLED + "put(a, k[5], 1); y[t] = sum(a, k[3]);",
        FILLED + "put(a, k[3], 1); y[t] = sum(a, k[3]);",
        "write of 4 bytes past the end of `a`: at byte 20 of 20, in private memory",
        9,
    ),
    "write before the beginning": (
        FILLED + "put(a, k[1] + 2, 1); y[t] = sum(a, k[3]);",
        FILLED + "put(a, k[1] + 3, 1); y[t] = sum(a, k[3]);",
        "write of 4 bytes 4 bytes before `a`, in private memory",
        9,
    ),
    "a neighbour": (
        FILLED + "float b[4]; for (int i = 0; i < 4; ++i) b[i] = i; "
        "put(a, k[5], 1); y[t] = sum(a, k[3]) + sum(b, k[3]);",
        FILLED + "float b[4]; for (int i = 0; i < 4; ++i) b[i] = i; "
        "put(a, k[3], 1); y[t] = sum(a, k[3]) + sum(b, k[3]);",
        "write of 4 bytes past the end of `a`: at byte 20 of 20, in private memory",
        9,
    ),
    "a scope that has ended": (
        "thread float* p; { " + FILLED + "p = a; y[t] = sum(a, k[3]); } y[t] += p[k[3]];",
        FILLED + "thread float* p; { p = a; y[t] = sum(a, k[3]); } y[t] += p[k[3]];",
        "read of 4 bytes of `a`, whose scope has ended, in private memory",
        11,
    ),
}  # fmt: skip


def run(device, compile_kernel, body, tools):
    pipeline = compile_kernel(KERNEL.format(body=body), checked=True, tools=tools)
    arguments = {"k": np.array(K, np.int32), "y": np.zeros(8, np.float32)}
    device.run([_core.Dispatch(pipeline, arguments, threadgroups=1, threads=4)])


@pytest.mark.parametrize("tools", [("mem",), ("mem", "init")], ids="+".join)
@pytest.mark.parametrize("name", CASES)
def test_an_access_between_variables_is_reported(device, compile_kernel, name, tools):
    bug, twin, said, line = CASES[name]
    with pytest.raises(_core.KernelFault) as error:
        run(device, compile_kernel, bug, tools)
    assert f"test.metal:{line}: {said}" in str(error.value)
    run(device, compile_kernel, twin, tools)
