"""Arguments of dispatches in one window, and those that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from metal.adding import ADD, dispatch

from metalbench import _core

pytestmark = pytest.mark.metal


def test_a_large_constant(metal):
    source = """
    struct Table { float values[2048]; };
    kernel void pick(constant Table& table, device float* x, uint i [[thread_position_in_grid]]) {
      x[i] = table.values[i];
    }
    """
    table, x = np.arange(2048, dtype=np.float32), np.zeros(2048, np.float32)
    pipeline = metal.compile(source).pipeline()
    arguments = {"table": table.tobytes(), "x": x}
    metal.run([_core.Dispatch(pipeline, arguments, threads_in_grid=2048, threads=32)])
    np.testing.assert_array_equal(x, table)


def test_each_dispatch_has_its_arguments(metal):
    library = metal.compile(ADD)
    x, y = np.zeros(32, np.float32), np.zeros(32, np.float32)
    add, twice = library.pipeline("add"), library.pipeline("twice")
    order = [
        dispatch(add, x, step=np.float32(1)),
        dispatch(add, x, step=np.float32(2)),
        dispatch(twice, x),
        dispatch(add, y, step=np.float32(2)),
    ]
    for _ in range(3):
        metal.run(order)
    assert (x == ((0 + 3) * 2 + 3) * 2 * 2 + 6).all()
    assert (y == 6).all()


def test_another_devices_buffer_is_refused(metal, add):
    foreign = _core.open("cpu").allocate(128)
    arguments = {"x": foreign, "step": np.float32(1)}
    with pytest.raises(_core.DispatchError, match="another device"):
        metal.run([_core.Dispatch(add, arguments, threads_in_grid=32, threads=32)])
