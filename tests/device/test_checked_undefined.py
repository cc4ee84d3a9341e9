"""Behaviour of one thread that Metal leaves undefined: each bug with its clean twin."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core
from metalbench._core import CompileError
from metalbench.msl.toolchain.clang import TOOLS

KERNEL = """
struct Own {{ float head; float values[4]; float tail; }};
constant float table[4] = {{1, 2, 3, 4}};
kernel void f(device float* x, device int* k, device float* y, uint t [[thread_position_in_threadgroup]]) {{
{body}
}}
"""
LINE = 7
# Read by the kernels, so that nothing is known when they are compiled.
K = [7, -3, 0, 4, 33, 5, 2, 1]
X = [1.5, 3e9, -1, np.nan, 2]

# what is wrong, what is not, what the run says; in every checked build
ALWAYS = {
    "division": (
        "y[0] = k[0] / k[2];",
        "y[0] = k[0] / k[3];",
        "integer division by zero: 7 / 0; the result is undefined in Metal",
    ),
    "remainder": (
        "y[0] = k[1] % k[2];",
        "y[0] = k[1] % k[3];",
        "integer division by zero: -3 / 0",
    ),
    "unsigned division": (
        "y[0] = uint(k[0]) / uint(k[2]);",
        "y[0] = uint(k[0]) / uint(k[3]);",
        "integer division by zero: 7 / 0",
    ),
    "division of a vector": (
        "int2 v = int2(k[0], 9) / int2(k[2], 3); y[0] = v.x + v.y;",
        "int2 v = int2(k[0], 9) / int2(k[3], 3); y[0] = v.x + v.y;",
        "integer division by zero: 7 / 0",
    ),
    "private array": (
        "float a[4] = {1, 2, 3, 4}; a[k[7]] = x[0]; y[0] = a[k[3]];",
        "float a[4] = {1, 2, 3, 4}; a[k[7]] = x[0]; y[0] = a[k[6]];",
        "subscript out of bounds: 4 of `a`, `float[4]`",
    ),
    "private array, negative": (
        "float a[4] = {1, 2, 3, 4}; a[k[1]] = x[0]; y[0] = a[k[6]];",
        "float a[4] = {1, 2, 3, 4}; a[k[7]] = x[0]; y[0] = a[k[6]];",
        "subscript out of bounds: -3 of `a`, `float[4]`",
    ),
    "loop past the end": (
        "float a[4]; for (int i = 0; i <= 4; ++i) a[i] = x[0] + i; y[0] = a[k[7]];",
        "float a[4]; for (int i = 0; i < 4; ++i) a[i] = x[0] + i; y[0] = a[k[7]];",
        "subscript out of bounds: 4 of `a`, `float[4]`",
    ),
    "two dimensions": (
        "float a[2][3] = {}; a[k[7]][k[7]] = 1; y[0] = a[0][k[3]];",
        "float a[2][3] = {}; a[k[7]][k[7]] = 1; y[0] = a[0][k[6]];",
        "subscript out of bounds: 4 of `a[]`, `float[3]`",
    ),
    "member": (
        "Own own = {}; own.values[k[7]] = 3; y[0] = own.values[k[3]];",
        "Own own = {}; own.values[k[7]] = 3; y[0] = own.values[k[6]];",
        "subscript out of bounds: 4 of `own.values`, `float[4]`",
    ),
    "threadgroup array": (
        "threadgroup float a[4], b[8]; a[0] = b[0] = 1; a[k[3]] = 2; y[0] = a[0] + b[0];",
        "threadgroup float a[4], b[8]; a[0] = b[0] = 1; a[k[6]] = 2; y[0] = a[0] + b[0];",
        "subscript out of bounds: 4 of `a`, `float[4]`",
    ),
    "constant table": (
        "y[0] = table[k[3]];",
        "y[0] = table[k[6]];",
        "subscript out of bounds: 4 of `table`, `const float[4]`",
    ),
    "vector": (
        "float4 v = 1; y[0] = v[k[3]];",
        "float4 v = 1; y[0] = v[k[6]];",
        "subscript out of bounds: 4 of a vector of 4",
    ),
    "vector of three": (
        "float3 v = 1; v[k[0] - 4] = 2; y[0] = v.x;",
        "float3 v = 1; v[k[0] - 5] = 2; y[0] = v.x;",
        "subscript out of bounds: 3 of a vector of 3",
    ),
    "packed vector": (
        "packed_float3 v = float3(1); y[0] = v[k[3]];",
        "packed_float3 v = float3(1); y[0] = v[k[6]];",
        "subscript out of bounds: 4 of a packed vector of 3",
    ),
    "matrix": (
        "float3x3 m(1); y[0] = m[k[0] - 4].x;",
        "float3x3 m(1); y[0] = m[k[0] - 5].x;",
        "subscript out of bounds: 3 of a matrix of 3",
    ),
    "column of a matrix": (
        "float4x2 m = float4x2(1); y[0] = m[0][k[6]];",
        "float4x2 m = float4x2(1); y[0] = m[0][k[7]];",
        "subscript out of bounds: 2 of a vector of 2",
    ),
    "array": (
        "array<float, 4> a = {1, 2, 3, 4}; y[0] = a[k[1]];",
        "array<float, 4> a = {1, 2, 3, 4}; y[0] = a[k[6]];",
        "subscript out of bounds: -3 of an array of 4",
    ),
    "null pointer": (
        "device float* p = k[0] == 7 ? nullptr : x; y[0] = p[0];",
        "device float* p = k[0] == 6 ? nullptr : x; y[0] = p[0];",
        "read of 4 bytes through a null pointer",
    ),
    "member of null": (
        "thread Own* p = nullptr; if (k[0] == 6) return; y[0] = p->tail;",
        "Own own = {}; thread Own* p = &own; if (k[0] == 6) return; y[0] = p->tail;",
        "read of 4 bytes through a null pointer, 20 bytes on",
    ),
}  # fmt: skip

# The same, in builds for arithmetic: what Metal defines.
ARITHMETIC = {
    "shift": (
        "y[0] = 1 << k[4];",
        "y[0] = 1 << (k[4] - 2);",
        "shift of `int` by 33: expected 0 to 31; Metal takes the amount modulo 32",
    ),
    "negative shift": (
        "y[0] = uint(k[0]) >> k[1];",
        "y[0] = uint(k[0]) >> k[5];",
        "shift of `uint` by -3: expected 0 to 31",
    ),
    "shift of a vector": (
        "uint2 v = uint2(7, 8) << uint2(1, k[4]); y[0] = v.x + v.y;",
        "uint2 v = uint2(7, 8) << uint2(1, k[5]); y[0] = v.x + v.y;",
        "by 33: expected 0 to 31",
    ),
    "float to int": (
        "k[0] = int(x[1]);",
        "k[0] = int(x[0]);",
        "conversion of 3e+09 to `int`, which cannot represent it",
    ),
    "negative to unsigned": (
        "k[0] = uint(x[2]);",
        "k[0] = uint(x[4]);",
        "conversion of -1 to `uint`, which cannot represent it",
    ),
    "NaN to int": (
        "k[0] = int(x[3]);",
        "k[0] = int(x[4]);",
        "conversion of nan to `int`",
    ),
    "half to uchar": (
        "half h = half(x[2] * 300); y[0] = uchar(h);",
        "half h = half(x[4] * 100); y[0] = uchar(h);",
        "conversion of -300 to `uchar`",
    ),
}  # fmt: skip


def run(device, compile_kernel, body, *, tools=(), fast_math=True):
    source = KERNEL.format(body=body)
    pipeline = compile_kernel(source, checked=True, tools=tools, fast_math=fast_math)
    arguments = {
        "x": np.array(X, np.float32),
        "k": np.array(K, np.int32),
        "y": np.zeros(8, np.float32),
    }
    device.run([_core.Dispatch(pipeline, arguments, threadgroups=1, threads=1)])


def expect(device, compile_kernel, case, **options):
    bug, twin, said = case
    with pytest.raises(_core.KernelFault) as error:
        run(device, compile_kernel, bug, **options)
    assert f"test.metal:{LINE}: {said}" in str(error.value) or (
        said in str(error.value) and f"test.metal:{LINE}: " in str(error.value)
    )
    run(device, compile_kernel, twin, **options)


@pytest.mark.parametrize("name", ALWAYS)
def test_every_checked_build_finds_undefined_behaviour(device, compile_kernel, name):
    expect(device, compile_kernel, ALWAYS[name])


@pytest.mark.parametrize("name", ARITHMETIC)
def test_a_build_for_arithmetic_finds_undefined_arithmetic(device, compile_kernel, name):
    # Under fast math a NaN itself is the first finding.
    fast_math = name != "NaN to int"
    expect(device, compile_kernel, ARITHMETIC[name], tools=["arithmetic"], fast_math=fast_math)


@pytest.mark.parametrize("name", ["shift", "float to int"])
def test_other_builds_accept_arithmetic_that_metal_defines(device, compile_kernel, name):
    run(device, compile_kernel, ARITHMETIC[name][0])


def test_an_unknown_tool_is_refused(device, compile_kernel):
    with pytest.raises(CompileError, match=f"tools: expected some of {', '.join(TOOLS)}, got 'm'"):
        run(device, compile_kernel, "y[0] = 1;", tools=["m"])
