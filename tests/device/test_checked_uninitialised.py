"""Private values that nothing has given, followed to where they matter; each with its clean twin."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

KERNEL = """
struct Pair {{ float first; float second; }};
static float halved(float v) {{ return v * 0.5f; }}
static void fill(thread float* to, int count) {{ for (int i = 0; i < count; ++i) to[i] = i; }}
kernel void f(device float* x, device int* k, device float* y, device Pair* pairs,
              uint t [[thread_position_in_threadgroup]]) {{
{body}
}}
"""
LINE = 9
K = [7, -3, 0, 4, 33, 5, 2, 1]
WRITTEN = "an uninitialised value is written to `y` at byte"
DECIDES = "an uninitialised value decides a branch or an address"

# what is wrong, what is not, what the run says, the variable
CASES = {
    "variable": (
        "float v; if (k[0] == 6) v = 1; y[t] = v;",
        "float v; if (k[0] == 7) v = 1; y[t] = v;",
        WRITTEN,
        "v",
    ),
    "never at all": ("float v; y[t] = v;", "float v = 2; y[t] = v;", WRITTEN, "v"),
    "sum": (
        "float s; for (int i = 0; i < 4; ++i) s += x[i]; y[t] = s;",
        "float s = 0; for (int i = 0; i < 4; ++i) s += x[i]; y[t] = s;",
        WRITTEN,
        "s",
    ),
    "copied": (
        "float v; if (k[0] == 6) v = 1; float w = v + 1, u = w * 2; y[t] = u;",
        "float v; if (k[0] == 7) v = 1; float w = v + 1, u = w * 2; y[t] = u;",
        WRITTEN,
        "v",
    ),
    "through a function": (
        "float v; if (k[0] == 6) v = 1; y[t] = halved(v);",
        "float v; if (k[0] == 7) v = 1; y[t] = halved(v);",
        WRITTEN,
        "v",
    ),
    "branch": (
        "int n; if (k[0] == 6) n = 1; if (n > 3) y[t] = 1;",
        "int n; if (k[0] == 7) n = 1; if (n > 3) y[t] = 1;",
        DECIDES,
        "n",
    ),
    "bound of a loop": (
        "int n; if (k[0] == 6) n = 1; for (int i = 0; i < n; ++i) y[i] = 1;",
        "int n; if (k[0] == 7) n = 1; for (int i = 0; i < n; ++i) y[i] = 1;",
        DECIDES,
        "n",
    ),
    "index": (
        "int n; if (k[0] == 6) n = 1; y[n & 3] = 1;",
        "int n; if (k[0] == 7) n = 1; y[n & 3] = 1;",
        DECIDES,
        "n",
    ),
    "array": (
        "float a[4]; fill(a, k[7]); y[t] = a[k[6]];",
        "float a[4]; fill(a, k[3]); y[t] = a[k[6]];",
        WRITTEN,
        "a",
    ),
    "array in part": (
        "float a[4]; for (int i = 0; i < 3; ++i) a[i] = 1; y[t] = a[k[6] + 1];",
        "float a[4]; for (int i = 0; i < 4; ++i) a[i] = 1; y[t] = a[k[6] + 1];",
        WRITTEN,
        "a",
    ),
    "field": (
        "Pair p; p.first = 1; y[t] = p.first + p.second;",
        "Pair p; p.first = p.second = 1; y[t] = p.first + p.second;",
        WRITTEN,
        "p",
    ),
    "component": (
        "float4 v; v.xyz = float3(1); y[t] = v[k[6] + 1];",
        "float4 v; v.xyz = float3(1); y[t] = v[k[6]];",
        WRITTEN,
        "v",
    ),
    "matrix": (
        "float3x3 m; m[0] = m[1] = float3(1); y[t] = m[k[6]].x;",
        "float3x3 m; m[0] = m[1] = float3(1); y[t] = m[k[7]].x;",
        WRITTEN,
        "m",
    ),
    "copy of a struct": (
        "Pair p, q; if (k[0] == 6) p.first = 1; q = p; y[t] = q.first;",
        "Pair p, q; if (k[0] == 7) p.first = 1; q = p; y[t] = q.first;",
        WRITTEN,
        "p",
    ),
    "threadgroup memory": (
        "threadgroup float s[4]; float v; if (k[0] == 6) v = 1; s[t] = v; y[t] = s[t];",
        "threadgroup float s[4]; float v; if (k[0] == 7) v = 1; s[t] = v; y[t] = s[t];",
        WRITTEN,
        "v",
    ),
    "a lane's own": (
        "float v; if (t != 1) v = 3; y[t] = simd_broadcast(v, 1);",
        "float v; if (t == 1) v = 3; y[t] = simd_broadcast(v, 1);",
        WRITTEN,
        "v",
    ),
}  # fmt: skip
UNTOLD = {"a lane's own"}


def run(device, compile_kernel, body, tools=("init",)):
    pipeline = compile_kernel(KERNEL.format(body=body), checked=True, tools=tools)
    arguments = {
        "x": np.ones(8, np.float32),
        "k": np.array(K, np.int32),
        "y": np.zeros(8, np.float32),
        "pairs": np.zeros(16, np.float32),
    }
    device.run([_core.Dispatch(pipeline, arguments, threadgroups=1, threads=4)])


@pytest.mark.parametrize("name", sorted(set(CASES) - UNTOLD))
def test_an_uninitialised_value_is_reported(device, compile_kernel, name):
    bug, _, said, variable = CASES[name]
    with pytest.raises(_core.KernelFault) as error:
        run(device, compile_kernel, bug)
    message = str(error.value)
    assert f"test.metal:{LINE}: {said}" in message
    assert f"it is of `{variable}`, declared at test.metal:{LINE}" in message


@pytest.mark.parametrize("name", CASES)
def test_initialised_values_are_accepted(device, compile_kernel, name):
    run(device, compile_kernel, CASES[name][1])


def test_other_builds_do_not_follow_values(device, compile_kernel):
    run(device, compile_kernel, CASES["branch"][0], tools=())
