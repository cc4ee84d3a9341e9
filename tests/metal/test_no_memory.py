"""Memory that Metal does not give: what is said, and that the device works afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

pytestmark = pytest.mark.metal

LARGE_CONSTANT = """
struct Table { float values[2048]; };
kernel void pick(constant Table& table, device float* x, uint i [[thread_position_in_grid]]) {
  x[i] = table.values[i];
}
"""
TEXTURE = """
#include <metal_stdlib>
using namespace metal;
kernel void look({type} t, device float* x, uint i [[thread_position_in_grid]]) {{
  x[i] = {read}.x;
}}
"""
KINDS = {
    "2d": ("texture2d<float>", "t.read(uint2(i, 0))", (1, 4)),
    "buffer": ("texture_buffer<float>", "t.read(i)", (4,)),
}


def test_a_device_without_memory_says_how_much_was_asked_for(metal, metal_double):
    metal_double.set("out_of_memory")
    with pytest.raises(_core.Error, match=r"cannot allocate 12345 bytes; .* takes at most \d+"):
        metal.allocate(12345)
    assert metal.allocate(12345).nbytes == 12345


def test_allocate_raises_beyond_the_buffer_limit(metal):
    with pytest.raises(_core.Error, match="in one buffer"):
        metal.allocate(1 << 60)


def test_an_unshareable_array_is_copied(metal, metal_double):
    x = np.arange(32, dtype=np.float32)
    metal_double.set("out_of_memory")
    buffer = metal.buffer(x)
    assert not buffer.shared
    np.testing.assert_array_equal(buffer.numpy("float32"), x)


def test_no_room_for_a_large_constant(metal, metal_double):
    table, x = np.arange(2048, dtype=np.float32), np.zeros(2048, np.float32)
    arguments = {"table": table.tobytes(), "x": x}
    pipeline = metal.compile(LARGE_CONSTANT).pipeline()
    pick = _core.Dispatch(pipeline, arguments, threads_in_grid=2048, threads=32)
    metal_double.set("out_of_memory")
    with pytest.raises(_core.Error, match=r"\[pick\] table: .* no memory .* of 8192 bytes"):
        metal.run([pick])
    assert (x == 0).all()
    metal.run([pick])
    np.testing.assert_array_equal(x, table)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attempt", [1, 2])
def test_no_room_for_a_texture(metal, metal_double, kind, attempt):
    declared, read, shape = KINDS[kind]
    texels, x = np.arange(4, dtype=np.float32).reshape(shape), np.zeros(4, np.float32)
    pipeline = metal.compile(TEXTURE.format(type=declared, read=read)).pipeline()
    arguments = {"t": metal.texture(texels, kind=kind), "x": x}
    look = _core.Dispatch(pipeline, arguments, threads_in_grid=4, threads=4)
    metal_double.set("out_of_memory", attempt)
    with pytest.raises(_core.Error, match=r"\[look\] t: Metal makes no texture of r32float for 16"):
        metal.run([look])
    metal_double.reset()
    metal.run([look])
    np.testing.assert_array_equal(x, texels.ravel())


def test_an_unsupported_sampler_is_refused(metal, metal_double):
    source = TEXTURE.format(type="texture2d<float>", read="t.sample(s, float2(0))")
    source = source.replace("device float*", "sampler s, device float*")
    x = np.zeros(1, np.float32)
    texture = metal.texture(np.full((1, 1), 5, np.float32))
    arguments = {"t": texture, "s": _core.Sampler(), "x": x}
    pipeline = metal.compile(source).pipeline()
    look = _core.Dispatch(pipeline, arguments, threads_in_grid=1, threads=1)
    metal_double.set("no_sampler")
    with pytest.raises(_core.Error, match=r"\[look\] s: Metal refuses the sampler"):
        metal.run([look])
    metal_double.reset()
    metal.run([look])
    assert x[0] == 5
