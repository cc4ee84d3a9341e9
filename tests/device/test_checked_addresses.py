"""Accesses through addresses that buffers hold: what is said of buffers that the dispatch lacks."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from metalbench import _core

FOLLOW = """
struct Node { device float* next; };
kernel void follow(device Node* node, constant uint& at, device float* y) {
  y[0] = node[0].next[at];
}
"""


@pytest.fixture
def launch(device, compile_kernel):
    """Return a dispatch that follows an address. Its memory is allocated before."""
    if not device.checked_builds:
        pytest.skip("no checked builds on this device")

    def launch(address, resources, at=0):
        pipeline = compile_kernel(FOLLOW, checked=True)
        node = np.array([address], np.uint64)
        arguments = {"node": node, "at": at, "y": np.zeros(1, np.float32)}
        return _core.Dispatch(pipeline, arguments, resources=resources, threadgroups=1, threads=1)

    return launch


@pytest.fixture
def follow(device, launch):
    return lambda *address, **options: device.run([launch(*address, **options)])


def neighbours(device, size=4096, count=6):
    return [device.allocate(size) for _ in range(count)]


def test_an_unlisted_buffer_is_out_of_bounds(device, follow):
    buffers = neighbours(device)
    for unlisted in buffers[1:]:
        with pytest.raises(_core.KernelFault) as error:
            follow(unlisted.address, [buffers[0]], at=2)
        message = str(error.value)
        assert (
            "test.metal:6: read of 4 bytes of a buffer that the dispatch does not list" in message
        )
        assert "at byte 8 of 4096; bind it, or name it in its `resources`" in message
        assert "resources[0]" not in message
        follow(unlisted.address, [buffers[0], unlisted], at=2)


def test_an_unlisted_array_is_out_of_bounds(device, follow):
    array = np.zeros(1 << 20, np.float32)
    buffer = device.buffer(array)
    assert buffer.shared
    with pytest.raises(_core.KernelFault, match="a buffer that the dispatch does not list"):
        follow(buffer.address, [device.allocate(64)], at=500_000)


def test_a_freed_buffer_is_reported(device, launch):
    buffers = neighbours(device)
    dispatch = launch(buffers[2].address, [buffers[1]], at=1)
    # From here on nothing is allocated that might lie where it was.
    del buffers[2]
    gc.collect()
    with pytest.raises(_core.KernelFault, match="a buffer that has been freed: at byte 4 of 4096"):
        device.run([dispatch])


@pytest.mark.parametrize("size", [64, 4096, 65536])
@pytest.mark.parametrize("beyond", [0, 1, 1000])
def test_an_index_that_is_too_large_is_out_of_bounds(device, follow, size, beyond):
    for buffer in neighbours(device, size):
        at = size // 4 + beyond
        with pytest.raises(_core.KernelFault) as error:
            follow(buffer.address, [buffer], at=at)
        assert f"past the end of `resources[0]`: at byte {4 * at} of {size}" in str(error.value)


def test_an_address_in_a_reused_gap_is_not_reported_as_freed(device, follow):
    before = [device.allocate(8000) for _ in range(200)]
    del before
    gc.collect()
    test_an_index_that_is_too_large_is_out_of_bounds(device, follow, 65536, 0)


def test_the_next_buffer_is_not_reached_although_it_is_bound(device, follow):
    first, second = neighbours(device, 8192, 2)
    for buffer in (first, second):
        with pytest.raises(_core.KernelFault, match=r"past the end of `resources\[[01]\]`"):
            follow(buffer.address, [first, second], at=2048)


def test_the_rest_of_a_sliced_buffer_is_past_the_slice(device, follow):
    part = device.allocate(4096).slice(1024, 64)
    with pytest.raises(_core.KernelFault, match=r"past the end of `resources\[0\]`: at byte 64 of"):
        follow(part.address, [part], at=16)
