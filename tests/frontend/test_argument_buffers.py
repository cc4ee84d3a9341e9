"""Test argument buffers: structs whose pointers are addresses of buffers in a dispatch."""

import numpy as np
import pytest

from metalbench import _core

TEXT = """#include <metal_stdlib>
using namespace metal;
struct Args {
  device float* out [[id(0)]];
  device const float* in [[id(1)]];
  uint count [[id(2)]];
  array<device const float*, 2> more [[id(3)]];
};
struct Node { device Node* next; float value; };
kernel void add(constant Args& args [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  if (i < args.count) args.out[i] = args.in[i] + args.more[1][i];
}
kernel void chain(device Args* args, uint i [[thread_position_in_grid]]) {
  args[0].out[i] = args->in[i] * args->count;
}
kernel void follow(device const Node* node, device float* out) {
  float sum = 0;
  for (device const Node* n = node; n; n = n->next) sum += n->value;
  *out = sum;
}
"""


@pytest.fixture
def device():
    return _core.open("cpu")


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("name", ["add", "chain"])
def test_kernels_reach_memory_through_pointers_in_a_struct(device, checked, name):
    out, first, second = (device.allocate(32) for _ in range(3))
    first.numpy("float32")[:] = np.arange(8)
    second.numpy("float32")[:] = 10
    struct = np.array([out.address, first.address, 8, 0, second.address], np.uint64)
    dispatch = _core.Dispatch(
        device.compile(TEXT, checked=checked).pipeline(name),
        {"args": struct},
        resources=[out, first, second],
        threads_in_grid=8,
        threads=8,
    )
    device.run([dispatch])
    expected = np.arange(8) + 10 if name == "add" else np.arange(8) * 8
    np.testing.assert_array_equal(out.numpy("float32"), expected)


def test_a_linked_list(device):
    nodes = device.allocate(48)
    node = np.dtype([("next", np.uint64), ("value", np.float32), ("padding", np.uint32)])
    nodes.numpy(node)["next"] = [nodes.address + 16, nodes.address + 32, 0]
    nodes.numpy(node)["value"] = [1, 2, 4]
    out = np.zeros(1, np.float32)
    pipeline = device.compile(TEXT, checked=True).pipeline("follow")
    dispatch = _core.Dispatch(pipeline, {"node": nodes, "out": out}, threads_in_grid=1, threads=1)
    device.run([dispatch])
    assert out[0] == 7


def test_a_checked_run_names_the_overrun_resource(device):
    out, first, second = device.allocate(32), device.allocate(16), device.allocate(32)
    struct = np.array([out.address, first.address, 8, 0, second.address], np.uint64)
    dispatch = _core.Dispatch(
        device.compile(TEXT, checked=True).pipeline("add"),
        {"args": struct},
        resources=[out, first, second],
        threads_in_grid=8,
        threads=8,
    )
    with pytest.raises(_core.KernelFault, match=r"resources\[1\]"):
        device.run([dispatch])


def test_a_slice_has_the_address_of_its_part(device):
    buffer = device.allocate(64)
    assert buffer.slice(16, 8).address == buffer.address + 16


TEXTURES = """#include <metal_stdlib>
using namespace metal;
struct Args {
  texture2d<float> first [[id(0)]];
  array<texture2d<float, access::read_write>, 2> more [[id(1)]];
  device float* out [[id(3)]];
  texture2d<float> none [[id(4)]];
};
kernel void f(constant Args& args [[buffer(0)]], uint2 p [[thread_position_in_grid]]) {
  constexpr sampler pixels(coord::pixel, filter::nearest);
  float x = args.first.sample(pixels, float2(p) + 0.5f).x + args.first.get_width();
  args.out[p.y * 3 + p.x] = x + args.none.read(p).x + (is_null_texture(args.none) ? 100 : 0);
  args.more[1].write(args.more[0].read(p) * 2, p);
}
"""


@pytest.mark.parametrize("checked", [False, True])
def test_textures_in_a_struct(device, checked):
    image = np.arange(6, dtype=np.float32).reshape(2, 3)
    doubled = np.zeros_like(image)
    textures = [device.texture(array) for array in (image, image.copy(), doubled)]
    out = device.allocate(24)
    ids = [texture.resource_id for texture in textures]
    struct = np.array([*ids, out.address, 0], np.uint64)
    dispatch = _core.Dispatch(
        device.compile(TEXTURES, checked=checked).pipeline(),
        {"args": struct},
        resources=[*textures, out],
        threads_in_grid=(3, 2),
        threads=(3, 2),
    )
    # The dispatch keeps what it needs.
    textures.clear()
    device.run([dispatch])
    np.testing.assert_array_equal(out.numpy("float32").reshape(2, 3), image + 103)
    np.testing.assert_array_equal(doubled, image * 2)


def test_textures_of_levels_in_a_struct(device):
    text = """#include <metal_stdlib>
    using namespace metal;
    struct Args { texture2d<uint, access::read> levels; };
    kernel void f(constant Args* args, device uint* out, uint i [[thread_position_in_grid]]) {
      out[i] = args[i].levels.read(uint2(0), 1).x * 10 + args[i].levels.get_num_mip_levels();
    }"""
    levels = [np.full((2, 2), 3, np.uint32), np.full((1, 1), 4, np.uint32)]
    two, one = device.texture(levels), device.texture(levels[0])
    out = np.zeros(2, np.uint32)
    arguments = {"args": np.array([two.resource_id, one.resource_id], np.uint64), "out": out}
    pipeline = device.compile(text, checked=True).pipeline()
    device.run(
        [_core.Dispatch(pipeline, arguments, resources=[two, one], threads_in_grid=2, threads=2)]
    )
    assert out.tolist() == [42, 1]
