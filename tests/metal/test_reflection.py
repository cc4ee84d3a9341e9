"""The reflection of the Metal device agrees with that of the `cpu` device."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

pytestmark = pytest.mark.metal

HEAD = "#include <metal_stdlib>\nusing namespace metal;\nstruct Two { float a; int4 b; };\n"
KERNELS = {
    "buffers": """kernel void k(device const float4* x [[buffer(3)]], device half* y,
        constant Two& two, const device Two* many, device atomic_uint* unused,
        uint i [[thread_position_in_grid]]) { y[i] = x[i].x + two.a + many[i].b.x; }""",
    "threadgroup": """kernel void k(threadgroup float* a, device float* y, threadgroup Two* b,
        uint i [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
        threadgroup float within[32]; within[i] = a[i] = i; b[i].a = lane;
        threadgroup_barrier(mem_flags::mem_threadgroup); y[i] = within[31 - i] + b[i].a; }""",
    "textures": """kernel void k(texture2d<float> a, texture2d<half, access::write> b,
        texture3d<uint, access::read> c, depth2d<float> d, sampler s, device float* y,
        texture1d<int, access::read_write> e) {
        b.write(half4(a.sample(s, float2(0))), uint2(0)); e.write(int4(1), 0);
        y[0] = c.read(uint3(0)).x + d.sample(s, float2(0)); }""",
    "arrays": """kernel void k(array<texture2d<float>, 3> a, array<sampler, 2> s,
        device float* y, texture2d<float> last) {
        y[0] = a[2].sample(s[1], float2(0)).x + last.sample(s[0], float2(0)).x; }""",
}


def signature(device: _core.Device, source: str) -> list[tuple]:
    pipeline = device.compile(HEAD + source).pipeline()
    arguments = [
        (a.name, a.kind, a.index, a.type, a.address_space, a.access, a.element_bytes, a.count)
        for a in pipeline.arguments
    ]
    return [*arguments, *((a.name, a.type) for a in pipeline.attributes)]


@pytest.mark.parametrize("name", KERNELS)
def test_both_devices_reflect_the_same_arguments(metal: _core.Device, name: str) -> None:
    assert signature(metal, KERNELS[name]) == signature(_core.open("cpu"), KERNELS[name])


@pytest.mark.parametrize("name", KERNELS)
def test_unused_parameters_are_reflected_from_the_source(
    metal: _core.Device, metal_double, name: str
) -> None:
    def bound(device: _core.Device) -> list[tuple]:
        pipeline = device.compile(HEAD + KERNELS[name]).pipeline()
        return [(a.name, a.kind, a.index, a.type, a.address_space) for a in pipeline.arguments]

    metal_double.set("hide_unused")
    assert bound(metal) == bound(_core.open("cpu"))


def test_a_variable_is_not_taken_for_a_parameter(metal: _core.Device, metal_double) -> None:
    source = """kernel void k(threadgroup half* spare, device float* y,
        uint i [[thread_index_in_threadgroup]]) {
        threadgroup float within[32]; within[i] = i;
        threadgroup_barrier(mem_flags::mem_threadgroup); y[i] = within[31 - i]; }"""
    metal_double.set("hide_unused")
    pipeline = metal.compile(HEAD + source).pipeline()
    found = [(a.name, a.kind, a.index, a.type, a.element_bytes) for a in pipeline.arguments]
    assert found == [("spare", "threadgroup", 0, "half", 0), ("y", "buffer", 0, "float", 4)]
    assert pipeline.threadgroup_bytes == 128
    y = np.zeros(32, np.float32)
    arguments = {"y": y}
    metal.run(
        [
            _core.Dispatch(
                pipeline,
                arguments,
                threads_in_grid=32,
                threads=32,
                threadgroup_bytes={"spare": 16},
            )
        ]
    )
    np.testing.assert_array_equal(y, np.arange(32)[::-1])


def test_static_threadgroup_memory_is_known(metal: _core.Device) -> None:
    pipeline = metal.compile(HEAD + KERNELS["threadgroup"]).pipeline()
    assert pipeline.threadgroup_bytes >= 128
    assert 32 <= pipeline.max_threads <= metal.limits.max_threads_per_threadgroup


def test_reflection_uses_metal_if_the_source_cannot_be_parsed(
    metal: _core.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metalbench.msl.engine.signature", lambda *_: None)
    pipeline = metal.compile(HEAD + KERNELS["buffers"], filename="unread.metal").pipeline()
    found = [(a.name, a.kind, a.index, a.type, a.access) for a in pipeline.arguments]
    assert found[0] == ("y", "buffer", 0, "half", "read_write")
    assert found[1] == ("two", "buffer", 1, "struct", "read")
    assert found[3] == ("x", "buffer", 3, "float4", "read")
    assert [index for _, _, index, _, _ in found] == [0, 1, 2, 3, 4]
    assert pipeline.attributes == []

    pipeline = metal.compile(HEAD + KERNELS["textures"], filename="unread.metal").pipeline()
    access = {a.name: a.access for a in pipeline.arguments if a.kind == "texture"}
    assert access == {"a": "sample", "b": "write", "c": "sample", "d": "sample", "e": "read_write"}
