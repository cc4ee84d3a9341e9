"""Accesses that are not aligned as their type is: plain builds do them, checked builds name them."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

FLOATS = "device float* x, device float* y"
BYTES = "device uchar* x, device float* y"
HALVES = "device half* x, device float* y"
S = "struct S { float a; float4 b; };"
WIDE = "struct alignas(16) S { float a[8]; };"
LOOP = "device float4* p = (device float4*)(x + 1); float4 s = 0; for (int k = 0; k < 8; ++k) s += p[k];"
TILE = "threadgroup float t[16]; for (int k = 0; k < 16; ++k) t[k] = x[k];"
OWN = "float t[16]; for (int k = 0; k < 16; ++k) t[k] = x[k]; thread float* p = t + int(x[1]);"
MATRIX = (
    "simdgroup_float8x8 m; simdgroup_load(m, (device float*)(x + 1), 4); simdgroup_store(m, y, 8);"
)

# parameters, body, what comes to y[0] where x counts from 0, what the checked build says
CASES = {
    "read": (FLOATS, "float4 v = *(device float4*)(x + 1); y[0] = v.w;", 4, ("read", "`x`", 4, 16)),
    "write": (FLOATS, "*(device float4*)(y - 1 + 4) = float4(7); y[0] = y[3];", 7, ("write", "`y`", 12, 16)),
    "update": (FLOATS, "*(device float4*)(y + 1) += 3; y[0] = y[1];", 3, ("use", "`y`", 4, 16)),
    "component": (FLOATS, "y[0] = ((device float4*)(x + 1))->y;", 2, ("use", "`x`", 4, 16)),
    "swizzle": (FLOATS, "(*(device float4*)(y + 1)).xy = float2(5); y[0] = y[2];", 5, ("use", "`y`", 4, 16)),
    "reference": (FLOATS, "device float4& r = *(device float4*)(y + 1); r.z = 9; y[0] = y[3];", 9, ("use", "`y`", 4, 16)),
    "float2": (FLOATS, "float2 v = *(device float2*)(x + 1); y[0] = v.y;", 2, ("read", "`x`", 4, 8)),
    "float3": (FLOATS, "float3 v = *(device float3*)(x + 1); y[0] = v.z;", 3, ("read", "`x`", 4, 16)),
    "half4": (HALVES, "half4 v = *(device half4*)(x + 1); y[0] = v.w;", 4, ("read", "`x`", 2, 8)),
    "struct": (FLOATS, "S s = *(device S*)(x + 1); y[0] = s.b.x;", 5, ("read", "`x`", 4, 16)),
    "member": (FLOATS, "y[0] = ((device S*)(x + 1))->b.y;", 6, ("use", "`x`", 4, 16)),
    "matrix": (FLOATS, "float4x4 m = *(device float4x4*)(x + 1); y[0] = m[1][0];", 5, ("read", "`x`", 4, 16)),
    "alignas": (FLOATS, "W w = *(device W*)(x + 1); *(device W*)(y + 9) = w; y[0] = y[16];", 8, ("read", "`x`", 4, 16)),
    "loop": (FLOATS, LOOP + "y[0] = s.x;", 120, ("read", "`x`", 4, 16)),
    "scalar": (BYTES, "y[0] = as_type<uint>(*(device float*)(x + 1)) & 255;", 1, ("read", "`x`", 1, 4)),
    "threadgroup": (FLOATS, TILE + "y[0] = (*(threadgroup float4*)(t + 1) * 2).w;", 8, ("read", "threadgroup memory", 4, 16)),
}  # fmt: skip
WHOLE = "kernel void f({parameters}) {{\n{body}\n}}"


def run(device, compile_kernel, parameters, body, *, checked, **given):
    structs = f"{S} {WIDE.replace(' S ', ' W ')}\n"
    source = structs + WHOLE.format(parameters=parameters, body=body)
    pipeline = compile_kernel(source, checked=checked)
    dtype = {FLOATS: np.float32, BYTES: np.uint8, HALVES: np.float16}.get(parameters, np.float32)
    arguments = {"x": np.arange(256).astype(dtype), "y": np.zeros(256, np.float32)} | given
    device.run([_core.Dispatch(pipeline, arguments, threadgroups=1, threads=1)])
    return arguments["y"]


@pytest.mark.parametrize("case", CASES)
def test_plain_builds_agree_with_gpus(device, compile_kernel, case):
    parameters, body, expected, _ = CASES[case]
    assert run(device, compile_kernel, parameters, body, checked=False)[0] == expected


@pytest.mark.parametrize("case", CASES)
def test_checked_builds_name_them(device, compile_kernel, case):
    parameters, body, _, (noun, memory, byte, alignment) = CASES[case]
    with pytest.raises(_core.KernelFault) as error:
        run(device, compile_kernel, parameters, body, checked=True)
    message = str(error.value)
    assert f"test.metal:5: misaligned {noun} of {memory} at byte {byte}: expected" in message
    excess = byte % alignment
    assert (
        f"a multiple of {alignment}, got one that is {excess} more, by thread (0, 0, 0)" in message
    )


def test_private_memory_has_no_name(device, compile_kernel):
    body = OWN + "y[0] = (*(thread float4*)p).w + t[int(x[9])];"
    assert run(device, compile_kernel, FLOATS, body, checked=False)[0] == 4 + 9
    with pytest.raises(_core.KernelFault, match=r"test.metal:5: misaligned use of private memory"):
        run(device, compile_kernel, FLOATS, body, checked=True)


@pytest.mark.parametrize(
    "body",
    [
        "packed_float3 v = *(device packed_float3*)(x + 1); y[0] = v.z;",
        "y[0] = ((device packed_float4*)(x + 1))->z;",
        "y[0] = (*(device float4*)(x + 4)).x - 1;",
        "struct P { float a; packed_float2 b; }; y[0] = ((device P*)(x + 1))->b.y;",
    ],
)
def test_an_access_aligned_to_its_elements_is_accepted(device, compile_kernel, body):
    for checked in (False, True):
        assert run(device, compile_kernel, FLOATS, body, checked=checked)[0] == 3


def test_matrices_need_their_elements_alignment_only(device, compile_kernel):
    source = f"kernel void f({BYTES}) {{\n{MATRIX}\n}}"
    for offset in (3, 0):
        pipeline = compile_kernel(source, checked=True)
        x = device.allocate(1024).slice(offset, 1000)
        arguments = {"x": x, "y": np.zeros(256, np.float32)}
        dispatch = _core.Dispatch(pipeline, arguments, threadgroups=1, threads=32)
        if offset == 3:
            device.run([dispatch])
            continue
        with pytest.raises(_core.KernelFault, match="misaligned read of `x` at byte 1: .* 4, got"):
            device.run([dispatch])


@pytest.mark.parametrize("type_", ["atomic_uint", "atomic_float"])
def test_atomics_need_their_alignment(device, compile_kernel, type_):
    body = f"atomic_store_explicit((device {type_}*)(x + 1), 1, memory_order_relaxed);"
    with pytest.raises(_core.KernelFault, match=r"test.metal:5: misaligned write of `x` at byte 1"):
        run(device, compile_kernel, BYTES, body, checked=True)


@pytest.mark.parametrize(
    ("parameter", "value", "where"),
    [
        ("device float4* x", "x->y + 4", "test.metal:5: "),
        ("device const float3* x", "x->x + 5", "test.metal:5: "),
        ("device const float4& x", "x.y + 4", ""),
        ("constant float4& x", "x.y + 4", ""),
        ("constant float4x4& x", "x[1].y", ""),
    ],
)
def test_buffers_may_be_bound_at_any_offset(device, compile_kernel, parameter, value, where):
    given = {"x": device.buffer(np.arange(256, dtype=np.float32)).slice(4, 512)}
    parameters, body = f"{parameter}, device float* y", f"y[0] = {value};"
    if device.kind == "metal":  # Metal does not bind it
        with pytest.raises(_core.DispatchError, match="expected an offset at a multiple of 16"):
            run(device, compile_kernel, parameters, body, checked=False, **given)
        return
    assert run(device, compile_kernel, parameters, body, checked=False, **given)[0] == 6
    words = rf"\[f\] {where}misaligned use of `x` at byte 0: expected .* 16, got one that is 4 more"
    with pytest.raises(_core.KernelFault, match=words):
        run(device, compile_kernel, parameters, body, checked=True, **given)


def test_vectorised_loops_do_not_count_on_alignment(device, compile_kernel):
    source = f"""kernel void f({FLOATS}, uint i [[thread_position_in_grid]]) {{
        device float4* to = (device float4*)(y + 1);
        to[i] = ((device float4*)(x + 1))[i] * 2 + 1;
    }}"""
    x, y = np.arange(4096, dtype=np.float32), np.zeros(4096, np.float32)
    pipeline = compile_kernel(source)
    device.run([_core.Dispatch(pipeline, {"x": x, "y": y}, threads_in_grid=1000, threads=250)])
    np.testing.assert_array_equal(y[1:4001], x[1:4001] * 2 + 1)


def test_an_invalid_address_is_not_reported_as_nil(device, compile_kernel):
    """An x86-64 processor does not report which it was, others do."""
    pipeline = compile_kernel(
        "kernel void f(device ulong* x, device float* y) { y[0] = *(device float*)x[0]; }"
    )
    arguments = {"x": np.array([0x123456789ABCDEF0], np.uint64), "y": np.zeros(1, np.float32)}
    with pytest.raises(_core.KernelFault, match="access to (an )?invalid address") as error:
        device.run([_core.Dispatch(pipeline, arguments, threadgroups=1, threads=1)])
    assert "nil" not in str(error.value)
