"""Textures: their shapes, their bounds, and what they say of themselves."""

from __future__ import annotations

import numpy as np
import pytest
from device.test_textures import run

from metalbench import _core

SHAPES = [
    ("texture1d", "1d", (9,), "p.x"),
    ("texture1d_array", "1d_array", (3, 9), "p.x, p.y"),
    ("texture_buffer", "buffer", (9,), "p.x"),
    ("texture2d", "2d", (5, 9), "p.xy"),
    ("texture2d_array", "2d_array", (3, 5, 9), "p.xy, p.z"),
    ("texture3d", "3d", (3, 5, 9), "p"),
    ("texturecube", "cube", (6, 5, 5), "p.xy, p.z"),
    ("texturecube_array", "cube_array", (12, 5, 5), "p.xy, p.z % 6, p.z / 6"),
]


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize(("name", "kind", "shape", "at"), SHAPES)
def test_shapes_and_their_bounds(device, compile_kernel, name, kind, shape, at, checked):
    pipeline = compile_kernel(
        f"""
        kernel void f({name}<float, access::read> a, {name}<float, access::write> b,
                      device float4* out, uint3 p [[thread_position_in_grid]], uint3 n [[threads_per_grid]]) {{
          float4 value = a.read({at});
          b.write(value + 1, {at});
          out[(p.z * n.y + p.y) * n.x + p.x] = value;
        }}
        """,
        checked=checked,
    )
    texels = np.random.default_rng(0).normal(size=(*shape, 4)).astype(np.float32)
    # The memory around the texture shows what is written outside of it.
    around = np.zeros((*(size + 2 for size in shape), 4), np.float32)
    inner = around[tuple(slice(1, -1) for _ in shape)]
    texture = device.texture(inner, kind=kind)
    full = (*(1,) * (3 - len(shape)), *shape)
    grid = tuple(size + 2 if size > 1 else 1 for size in full[::-1])
    out = np.ones((*grid[::-1], 4), np.float32)
    run(device, pipeline, grid, a=device.texture(texels, kind=kind), b=texture, out=out)
    expected = np.zeros_like(out)
    expected[tuple(slice(0, size) for size in full)] = texels.reshape(*full, 4)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(texture.numpy(), texels + 1)
    assert texture.shared
    assert np.count_nonzero(around) == np.count_nonzero(texels + 1)


def test_depth_textures_are_read(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void f(depth2d<float> a, depth2d_array<float> b, device float2* out, uint2 p [[thread_position_in_grid]]) {
          out[p.y * 4 + p.x] = float2(a.read(p), b.read(p, 2));
        }
        """
    )
    random = np.random.default_rng(0)
    a, b = (random.random(s, np.float32) for s in [(3, 4), (3, 3, 4)])
    out = np.zeros((3, 4, 2), np.float32)
    run(
        device, pipeline, (4, 3), a=device.texture(a), b=device.texture(b, kind="2d_array"), out=out
    )
    np.testing.assert_array_equal(out, np.stack([a, b[2]], -1))


def test_multisampled_textures_are_read_or_refused(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void f(texture2d_ms<float> a, device float2* out, uint2 p [[thread_position_in_grid]]) {
          out[p.y * 4 + p.x] = float2(a.read(p, 1).y, a.get_num_samples());
        }
        """
    )
    texels = np.random.default_rng(0).random((2, 3, 4, 2), np.float32)
    out = np.zeros((3, 4, 2), np.float32)
    arguments = {"a": device.texture(texels, kind="2d_ms"), "out": out}
    if device.kind == "metal":
        with pytest.raises(_core.Unsupported, match="use texture2d_array"):
            run(device, pipeline, (4, 3), **arguments)
        return
    run(device, pipeline, (4, 3), **arguments)
    np.testing.assert_array_equal(out, np.stack([texels[1, ..., 1], np.full((3, 4), 2)], -1))


def test_queries_and_levels(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void f(texture2d<uint> a, texture3d<float> b, texturecube_array<float> c, device uint* out) {
          uint found[] = {a.get_width(), a.get_height(), a.get_num_mip_levels(), a.get_width(1), a.get_height(2),
                          a.read(uint2(1, 0), 1).x, a.read(ushort2(0), 2).x, a.read(uint2(2, 0), 1).x,
                          a.read(uint2(0), 3).x, b.get_depth(), b.get_width(), c.get_array_size(), c.get_width(),
                          uint(is_null_texture(a))};
          for (int i = 0; i < 14; i++) out[i] = found[i];
        }
        """
    )
    levels = [
        np.full((2, 4), 1, np.uint32),
        np.full((1, 2), 2, np.uint32),
        np.full((1, 1), 3, np.uint32),
    ]
    a = device.texture(levels)
    b = device.texture(np.zeros((5, 6, 7), np.float32), kind="3d")
    c = device.texture(np.zeros((12, 8, 8), np.float32), kind="cube_array")
    out = np.zeros(14, np.uint32)
    run(device, pipeline, 1, a=a, b=b, c=c, out=out)
    assert list(out) == [4, 2, 3, 2, 1, 2, 3, 0, 0, 5, 7, 2, 8, 0]
    assert (a.levels, a.width, a.height, a.format) == (3, 4, 2, "r32uint")
    np.testing.assert_array_equal(a.numpy(2), [[3]])


def test_read_write_and_arrays_of_textures(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void f(array<texture2d<float, access::read>, 3> in, texture2d<int, access::read_write> out,
                      uint2 p [[thread_position_in_grid]]) {
          for (uint i = 0; i < in.size(); i++) {
            out.write(out.read(p) + int(in[i].read(p).x * 10), p);
            out.fence();
          }
        }
        """
    )
    assert [(a.kind, a.index, a.count, a.access) for a in pipeline.arguments] == [
        ("texture", 0, 3, "read"),
        ("texture", 3, 1, "read_write"),
    ]
    out = np.ones((5, 6), np.int32)
    images = [device.texture(np.full((5, 6), i + 1, np.float32)) for i in range(3)]
    run(device, pipeline, (6, 5), **{"in": images}, out=device.texture(out))
    assert (out == 61).all()
