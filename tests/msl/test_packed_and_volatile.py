"""Packed vectors as other types, and volatile vectors."""

from __future__ import annotations

import numpy as np
import pytest
from msl.conformance import TYPES

from metalbench import _core

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
FORMS = ["{to}({x})", "({to}){x}", "static_cast<{to}>({x})"]
PAIRS = [
    ("packed_char4", "float4"),
    ("packed_half4", "float4"),
    ("packed_float4", "half4"),
    ("packed_short2", "int2"),
    ("packed_uchar3", "float3"),
    ("packed_bfloat4", "half4"),
    ("packed_half3", "packed_float3"),
    ("packed_float4", "packed_bfloat4"),
    ("float2", "packed_int2"),
    ("packed_float3", "float3"),
]


def element(name):
    return np.dtype(TYPES[name.removeprefix("packed_")[:-1]])


def run(cpu, text, arrays, count, **options):
    pipeline = cpu.compile(HEADER + text, **options).pipeline()
    cpu.run([_core.Dispatch(pipeline, arrays, threads_in_grid=count, threads=count)])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("source", "to"), PAIRS)
def test_conversions_of_packed_vectors(cpu, source, to, form):
    size = int(source[-1])
    values = np.arange(4 * size).reshape(4, size) - (0 if "uchar" in source else 5)
    q = values.astype(element(source))
    y = np.zeros((4, size), element(to))
    converted = form.format(to=to, x="q[i]")
    text = f"""kernel void f(device const {source}* q, device {to[:-1].removeprefix("packed_")}* y,
        uint i [[thread_position_in_grid]]) {{
      auto v = {converted};
      static_assert(is_same_v<decltype(v), {to}>);
      for (int k = 0; k < {size}; ++k) y[{size} * i + k] = v[k];
    }}"""
    run(cpu, text, {"q": q, "y": y}, 4)
    np.testing.assert_array_equal(y, values.astype(element(to)))


def test_element_types_do_not_convert_implicitly(compiles):
    compiles("""
        static_assert(is_convertible_v<packed_float3, float3>);
        static_assert(is_convertible_v<float3, packed_float3>);
        static_assert(!is_convertible_v<packed_half3, float3>);
        static_assert(!is_convertible_v<packed_half3, packed_float3>);
        static_assert(is_constructible_v<float3, packed_half3>);
        static_assert(!is_constructible_v<float3, packed_half4>);
        static_assert(is_trivially_copyable_v<float4> && is_trivial_v<packed_half3>);
    """)


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("kind", ["float4", "half2", "int3", "packed_float3", "packed_uchar4"])
def test_volatile_vectors_are_read_and_assigned_whole(cpu, kind, checked):
    size = int(kind[-1])
    stride = 4 if size == 3 and "packed" not in kind else size
    x = np.arange(8 * stride).reshape(8, stride).astype(element(kind))
    y = np.zeros_like(x)
    text = f"""kernel void f(volatile device {kind}* x, device volatile {kind}* y,
        uint i [[thread_position_in_grid]]) {{
      threadgroup volatile {kind} shared[8];
      volatile {kind} v = x[i];
      const volatile {kind} w = v;
      shared[i] = v;
      threadgroup_barrier(mem_flags::mem_threadgroup);
      {kind} all = shared[7 - i];
      v = w;
      v = all + v + w - x[i];
      v[0] = v[0] + 1;
      y[i] = v;
    }}"""
    run(cpu, text, {"x": x, "y": y}, 8, checked=checked)
    want = x[::-1] + x
    want[:, 0] += 1
    np.testing.assert_array_equal(y[:, :size], want[:, :size])


def test_volatile_vectors_convert_and_go_to_functions(cpu):
    x = np.array([[1, 2, 3, 4]], np.float16)
    y = np.zeros(4, np.float32)
    text = """float total(float4 v) { return v.x + v.y + v.z + v.w; }
    kernel void f(volatile device half4* x, device float* y, volatile device packed_half4* p) {
      volatile float4 v = float4(x[0]);
      y[0] = total(v), y[1] = dot(v, v), y[2] = (float4(p[0]) * 2).w, y[3] = max(v, 2.0).x;
    }"""
    run(cpu, text, {"x": x, "y": y, "p": x.copy()}, 1)
    assert y.tolist() == [10, 30, 8, 2]
