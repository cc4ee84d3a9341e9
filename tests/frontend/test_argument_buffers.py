"""Structs of pointers: the addresses in them come from buffers, which a dispatch names."""

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


def test_a_checked_run_names_the_resource_that_is_overrun(device):
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
