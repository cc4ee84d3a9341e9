"""What dispatches of one window hand over, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

pytestmark = pytest.mark.metal

ADD = """
#include <metal_stdlib>
using namespace metal;
kernel void add(device float* x, constant float& step, uint i [[thread_position_in_grid]]) {
  x[i] += step;
}
kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }
"""


@pytest.fixture
def device():
    return _core.open("metal")


@pytest.fixture
def add(device):
    return device.compile(ADD, filename="add.metal").pipeline("add")


def dispatch(pipeline, x, **arguments):
    return _core.Dispatch(pipeline, {"x": x, **arguments}, threads_in_grid=len(x), threads=32)


def test_a_large_constant(device):
    source = """
    struct Table { float values[2048]; };
    kernel void pick(constant Table& table, device float* x, uint i [[thread_position_in_grid]]) {
      x[i] = table.values[i];
    }
    """
    table, x = np.arange(2048, dtype=np.float32), np.zeros(2048, np.float32)
    pipeline = device.compile(source).pipeline()
    arguments = {"table": table.tobytes(), "x": x}
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=2048, threads=32)])
    np.testing.assert_array_equal(x, table)


def test_dispatches_in_turn_each_get_their_own_arguments(device):
    library = device.compile(ADD)
    x, y = np.zeros(32, np.float32), np.zeros(32, np.float32)
    add, twice = library.pipeline("add"), library.pipeline("twice")
    order = [
        dispatch(add, x, step=np.float32(1)),
        dispatch(add, x, step=np.float32(2)),
        dispatch(twice, x),
        dispatch(add, y, step=np.float32(2)),
    ]
    for _ in range(3):
        device.run(order)
    assert (x == ((0 + 3) * 2 + 3) * 2 * 2 + 6).all()
    assert (y == 6).all()


def test_another_devices_buffer_is_refused(device, add):
    foreign = _core.open("cpu").allocate(128)
    arguments = {"x": foreign, "step": np.float32(1)}
    with pytest.raises(_core.DispatchError, match="another device"):
        device.run([_core.Dispatch(add, arguments, threads_in_grid=32, threads=32)])
