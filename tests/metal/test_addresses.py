"""Memory that kernels reach through addresses: the GPU's own, of what is resident."""

from __future__ import annotations

import gc
import mmap

import numpy as np
import pytest

from metalbench import _core

pytestmark = [pytest.mark.metal, pytest.mark.usefixtures("metal_double")]

FOLLOW = """
struct Node { device float* values; };
kernel void follow(constant Node& node, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = node.values[i];
}
"""
LIST = """
struct Node { device Node* next; device float* values; };
kernel void last(device Node* node, device Node* copy, device float* y,
                 uint i [[thread_position_in_grid]]) {
  device Node* at = node;
  while (at->next) at = at->next;
  y[i] = at->values[i];
  if (i == 0) copy->values = at->values;
}
"""


@pytest.fixture(params=[False, True], ids=["residency_sets", "no_residency_sets"])
def metal(request, metal_double) -> _core.Device:
    """A device of macOS 15, and one of macOS 14, where only the dispatch's resources count."""
    if request.param:
        gc.collect()
        metal_double.set("no_residency")
    return _core.open("metal")


def follow(metal: _core.Device, address: int, resources: list[_core.Buffer]) -> np.ndarray:
    y = np.zeros(32, np.float32)
    arguments = {"node": np.array([address], np.uint64).tobytes(), "y": y}
    pipeline = metal.compile(FOLLOW).pipeline()
    metal.run(
        [_core.Dispatch(pipeline, arguments, threads_in_grid=32, threads=32, resources=resources)]
    )
    return y


def some(metal: _core.Device) -> tuple[np.ndarray, _core.Buffer]:
    # Not of the heap, which may lie so low that its addresses look like any other numbers.
    x = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), np.float32)[:32]
    x[:] = np.arange(32)
    return x, metal.buffer(x)


def test_the_gpus_address_is_followed(metal) -> None:
    x, there = some(metal)
    assert there.address != x.ctypes.data
    np.testing.assert_array_equal(follow(metal, there.address, [there]), x)
    np.testing.assert_array_equal(follow(metal, there.address, [there]), x)


def test_the_hosts_address_is_invalid_on_the_gpu(metal) -> None:
    x, there = some(metal)
    with pytest.raises(_core.KernelFault, match="Address Fault"):
        follow(metal, x.ctypes.data, [there])


def test_unlisted_memory_is_accessible_only_with_residency_sets(metal) -> None:
    x, there = some(metal)
    if metal.capabilities["residency_sets"]:
        np.testing.assert_array_equal(follow(metal, there.address, []), x)
    else:
        with pytest.raises(_core.KernelFault, match="Address Fault"):
            follow(metal, there.address, [])


def test_freed_memory_faults(metal) -> None:
    _kept, there = some(metal)
    address = there.address
    del there
    gc.collect()
    with pytest.raises(_core.KernelFault, match="Address Fault"):
        follow(metal, address, [])


def test_addresses_within_addressed_memory_are_translated(metal) -> None:
    x, there = some(metal)
    nodes = [np.zeros(2, np.uint64) for _ in range(3)]
    buffers = [metal.buffer(node) for node in nodes]
    nodes[0][0], nodes[1][0] = buffers[1].address, buffers[2].address
    nodes[2][1] = there.address
    before = [node.copy() for node in nodes]
    copy, y = np.zeros(2, np.uint64), np.zeros(32, np.float32)
    arguments = {"node": buffers[0], "copy": copy, "y": y}
    resources = [*buffers, there]
    pipeline = metal.compile(LIST).pipeline()
    last = _core.Dispatch(pipeline, arguments, threads_in_grid=32, threads=32, resources=resources)
    for _ in range(2):
        metal.run([last])
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(nodes, before)
    assert copy[1] == there.address
