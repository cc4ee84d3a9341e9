"""Accesses of vectors at addresses that need not be aligned: they fault on NVIDIA's GPUs."""

from __future__ import annotations

import re

import pytest
from cuda.ptx import Ptx, check_sound, read

from metalbench.msl import engine

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
_ACCESS = re.compile(
    r"^\s+(?:@\S+ )?(?:ld|st)\.(?!param)(?:\w+\.)*?(?:v(\d)\.)?[bfus](\d+)\s", re.M
)

# Statements of a kernel with `x`, `y` of a scalar type, `i` and `cols`, and the bytes that each
# access may be wide.
UNPROVEN = {
    "float2": ("float", "*(device float2*)(y + i) = *(device const float2*)(x + i);", 4),
    "float4": ("float", "*(device float4*)(y + i) = *(device const float4*)(x + i);", 4),
    "uint4": ("uint", "*(device uint4*)(y + i) = *(device const uint4*)(x + i);", 4),
    "half4": ("half", "*(device half4*)(y + i) = *(device const half4*)(x + i);", 2),
    "uchar4": ("uchar", "*(device uchar4*)(y + i) = *(device const uchar4*)(x + i);", 1),
    "uchar3": ("uchar", "*(device uchar3*)(y + i) = *(device const uchar3*)(x + i);", 1),
    "bool3": (
        "uchar",
        "bool3 v = *(device const uchar3*)(x + i) != 0; *(device bool3*)(y + i) = !v;",
        1,
    ),
    "packed": (
        "float",
        "*(device packed_float4*)(y + i) = *(device const packed_float4*)(x + i);",
        4,
    ),
    "ulong": ("uint", "*(device ulong*)(y + i) = *(device const ulong*)(x + i);", 4),
    "struct": (
        "float",
        "struct Pair { float4 a; float4 b; };"
        "*(device Pair*)(y + i) = *(device const Pair*)(x + i);",
        4,
    ),
    "rows": (
        "float",
        "*(device float4*)(y + i * cols) = *(device const float4*)(x + i * cols);",
        4,
    ),
    "threadgroup": (
        "float",
        "threadgroup float s[72]; s[i] = x[i]; threadgroup_barrier(mem_flags::mem_threadgroup);"
        "float4 v = *(threadgroup float4*)(s + i); y[i] = v.x + v.y * v.z - v.w;",
        4,
    ),
    "reference": (
        "float",
        "device const float4& v = *(device const float4*)(x + i); y[i] = v.x + v.y * v.z - v.w;",
        4,
    ),
    "passed": (
        "float",
        "auto sum = [](float4 v) { return v.x + v.y * v.z - v.w; };"
        "y[i] = sum(*(device const float4*)(x + i));",
        4,
    ),
    "read-write": ("float", "*(device float4*)(y + i) *= 2.0f;", 4),
    "float3": ("float", "*(device float3*)(y + i) = *(device const float3*)(x + i) * 3;", 4),
    "loop": (
        "float",
        "float4 v = 0;"
        "for (uint k = 0; k < cols; ++k) v += *(device const float4*)(x + k * cols + i);"
        "y[i] = v.x + v.y + v.z + v.w;",
        4,
    ),
    "wrong-branch": (
        "float",
        "if (cols % 4 != 0) *(device float4*)(y + i * cols) = *(device float4*)(x + i * cols);",
        4,
    ),
    "half-of-it": (
        "float",
        "if (cols % 2 == 0) *(device float4*)(y + i * cols) = *(device float4*)(x + i * cols);",
        8,
    ),
    "one-of-two": (
        "float",
        "if (cols % 4 == 0 || i == 3) *(device float4*)(y + i * cols) = float4(x[i]);",
        4,
    ),
}
PROVEN = {
    "multiple": (
        "float",
        "*(device float4*)(y + 4 * i) = 2 * *(device const float4*)(x + 4 * i);",
        16,
    ),
    "index": ("float", "((device float4*)y)[i] = 2 * ((device const float4*)x)[i];", 16),
    "half4": ("half", "((device half4*)y)[i] = ((device const half4*)x)[i];", 8),
    "packed": (
        "float",
        "((device packed_float4*)y)[i] = ((device packed_float4*)x)[i] * 2.0f;",
        16,
    ),
    "rows": (
        "float",
        "if (cols % 4 == 0) {"
        "*(device float4*)(y + i * cols) = 2 * *(device const float4*)(x + i * cols); }",
        16,
    ),
    "both": (
        "float",
        "const bool whole = cols % 4 == 0 && cols < 100;"
        "if (whole) *(device float4*)(y + i * cols) = 2 * *(device const float4*)(x + 4 * i);",
        16,
    ),
    "return": (
        "float",
        "if ((cols | i) & 3) return;"
        "*(device float4*)(y + i) = 2 * *(device float4*)(x + cols + i);",
        16,
    ),
    "address": (
        "float",
        "device float* to = y + i; if (((ulong)to & 15) == 0) *(device float4*)to = x[i];",
        16,
    ),
    "loop": (
        "float",
        "if (cols % 4) return; float4 v = 0;"
        "for (uint k = 0; k < i; ++k) v += *(device const float4*)(x + k * cols);"
        "((device float4*)y)[i] = v;",
        16,
    ),
    "threadgroup": (
        "float",
        "threadgroup float s[8][36]; ((threadgroup float4*)s[i & 7])[i >> 3] = float4(x[i]);"
        "threadgroup_barrier(mem_flags::mem_threadgroup);"
        "((device float4*)y)[i] = *(threadgroup float4*)(&s[(i + 1) & 7][4 * (i & 7)]);",
        16,
    ),
}


def compiled(scalar: str, body: str, **options: int) -> Ptx:
    source = f"""{HEAD}
kernel void k(device {scalar}* x, device {scalar}* y, constant uint& cols,
              uint i [[thread_position_in_grid]]) {{
  {body}
}}"""
    program = engine.parse(source, macros={"__METAL_VERSION__": "400"})
    return read(engine.build_for_gpu(program, "k", **options).path)


def widths(ptx: Ptx) -> list[int]:
    """The bytes of every access to memory."""
    return [int(lanes or 1) * int(bits) // 8 for lanes, bits in _ACCESS.findall(ptx.text)]


@pytest.mark.parametrize("case", UNPROVEN)
def test_a_possibly_unaligned_access_is_split(case):
    scalar, body, most = UNPROVEN[case]
    ptx = compiled(scalar, body)
    # `cols` is a word.
    assert 0 < max(widths(ptx)) <= max(most, 4)
    if most < 4:
        assert widths(ptx).count(most) >= 6
    check_sound(ptx, assemble=True)


@pytest.mark.parametrize("case", PROVEN)
def test_an_aligned_access_is_not_split(case):
    scalar, body, most = PROVEN[case]
    ptx = compiled(scalar, body)
    assert max(widths(ptx)) == most
    check_sound(ptx, assemble=True)


@pytest.mark.parametrize("case", ["multiple", "index", "half4", "packed", "rows"])
def test_unaligned_buffers_prove_no_alignment(case):
    scalar, body, _ = PROVEN[case]
    ptx = compiled(scalar, body, buffer_alignment=1)
    assert max(widths(ptx)) <= 4
    check_sound(ptx, assemble=True)


def test_an_argument_of_vectors_is_accessed_as_vectors():
    source = f"""{HEAD}
struct Item {{ float4 a; float4 b; }};
kernel void k(device const float4* x, device Item* y, constant float4& by,
              uint i [[thread_position_in_grid]]) {{
  y[i].b = x[i] * by;
}}"""
    ptx = read(engine.build_for_gpu(engine.parse(source), "k").path)
    assert widths(ptx) == [16, 16, 16]


def test_dynamic_threadgroup_memory_is_accessed_as_vectors():
    source = f"""{HEAD}
kernel void k(device float* x, threadgroup float* s [[threadgroup(0)]],
              threadgroup float* t [[threadgroup(1)]], uint i [[thread_index_in_threadgroup]]) {{
  ((threadgroup float4*)t)[i] = 2 * ((device float4*)x)[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  ((device float4*)x)[i] = 3 * ((threadgroup float4*)t)[i ^ 1];
}}"""
    ptx = read(engine.build_for_gpu(engine.parse(source), "k").path)
    assert widths(ptx) == [16, 16, 16, 16]


def test_tables_of_constants_are_accessed_as_vectors():
    source = f"""{HEAD}
constant float4 table[3] = {{float4(1, 2, 3, 4), float4(2, 5, 7, 1), float4(9, 8, 2, 6)}};
kernel void k(device float4* y, uint i [[thread_position_in_grid]]) {{
  y[i] = 2 * table[i % 3];
}}"""
    ptx = read(engine.build_for_gpu(engine.parse(source), "k").path)
    assert set(widths(ptx)) == {16}
