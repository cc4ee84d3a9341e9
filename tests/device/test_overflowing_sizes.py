"""Sizes whose products or sums do not fit: errors that name argument, value and limit."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

BIG, MOST = 2**31, 2**32 - 1
TOO_MANY = r"grid: expected at most 2\^63 - 1 threads in all, got "
TOO_LONG = r"grid: positions do not fit 32 bits: expected at most 2\^32 - 1 threads along an axis"
TOO_WIDE = r"threads: expected 1 to 1024 threads a threadgroup, got "


@pytest.fixture(scope="module")
def pipeline():
    device = _core.open("cpu")
    source = """kernel void f(device float* x, threadgroup float* s [[threadgroup(0)]],
                  uint i [[thread_index_in_threadgroup]]) { s[i] = x[0]; x[0] = 1; }"""
    return device.compile(source).pipeline()


@pytest.mark.parametrize(
    ("geometry", "message"),
    [
        ({"threads_in_grid": (BIG, BIG, BIG), "threads": (8, 8, 8)}, TOO_MANY),
        ({"threads_in_grid": (BIG, BIG, BIG), "threads": 1}, TOO_MANY),
        ({"threads_in_grid": (BIG, BIG, 4), "threads": 64}, TOO_MANY),
        ({"threads_in_grid": (BIG, BIG, 2), "threads": 64}, TOO_MANY),
        ({"threads_in_grid": (MOST, MOST, 1), "threads": 1024}, TOO_MANY),
        ({"threads_in_grid": (MOST, 1, MOST), "threads": (1, 1, 1)}, TOO_MANY),
        ({"threads_in_grid": (2**22, 2**21, 2**21), "threads": 32}, TOO_MANY),
        ({"threads_in_grid": (2**16, 2**32 - 2**16, 2**17), "threads": 32}, TOO_MANY),
        ({"threadgroups": (2**22, 2**22, 2**22), "threads": (8, 8, 8)}, TOO_MANY),
        ({"threadgroups": (2**21, 2**21, 2**21), "threads": (4, 1, 1)}, TOO_MANY),
        ({"threadgroups": 2**22, "threads": 1024}, TOO_LONG),
        ({"threadgroups": (1, 2**22, 1), "threads": (1, 1024, 1)}, TOO_LONG),
        ({"threadgroups": (1, 1, MOST), "threads": (1, 1, 2)}, TOO_LONG),
        ({"threadgroups": 1, "threads": (BIG, BIG, 4)}, TOO_WIDE),
        ({"threadgroups": 1, "threads": (BIG, BIG, BIG)}, TOO_WIDE),
        ({"threadgroups": 1, "threads": (2**32 - 2**8, 2**32 - 2**8, 2**16)}, TOO_WIDE),
        ({"threads_in_grid": 2**32, "threads": 32}, r"sizes of 0 to 2\^32 - 1, got 4294967296"),
        ({"threads_in_grid": (1, 2**64 + 1), "threads": 32}, r"sizes of 0 to 2\^32 - 1"),
        ({"threads_in_grid": -1, "threads": 32}, r"sizes of 0 to 2\^32 - 1, got -1"),
    ],
)
def test_an_overflowing_grid_is_an_error(pipeline, geometry, message):
    x = np.zeros(1, np.float32)
    with pytest.raises(_core.DispatchError, match=message):
        _core.Dispatch(pipeline, {"x": x}, threadgroup_bytes={"s": 4096}, **geometry)


@pytest.mark.parametrize("bytes_given", [MOST, MOST - 8, 2**32 - 15, 2**31, 32769])
def test_overflowing_threadgroup_memory_is_an_error(pipeline, bytes_given):
    sizes = {"threadgroup_bytes": {"s": bytes_given}, "threads_in_grid": 1, "threads": 1}
    with pytest.raises(
        _core.DispatchError, match=f"s: expected at most 32768 bytes .* got {bytes_given}"
    ):
        _core.Dispatch(pipeline, {"x": np.zeros(1, np.float32)}, **sizes)


def test_sizes_that_are_rounded_up_still_run(pipeline):
    x = np.zeros(1, np.float32)
    sizes = {"threadgroup_bytes": {"s": 32767}, "threads_in_grid": 1, "threads": 1}
    _core.open("cpu").run([_core.Dispatch(pipeline, {"x": x}, **sizes)])
    assert x[0] == 1


@pytest.mark.parametrize("nbytes", [2**63, 2**64 - 1, 2**64 - 2**15, 2**64 - 2**14, 2**64, -1])
def test_an_overflowing_buffer_is_an_error(nbytes):
    with pytest.raises(
        _core.DispatchError, match=rf"nbytes: expected .* 2\^63 - 1, got int {nbytes}"
    ):
        _core.open("cpu").allocate(nbytes)


@pytest.mark.parametrize("nbytes", [2**63 - 1, 2**62, 2**48])
def test_a_buffer_without_room_is_an_error(nbytes):
    with pytest.raises(_core.OutOfMemoryError, match=f"cannot allocate {nbytes} bytes"):
        _core.open("cpu").allocate(nbytes)


@pytest.mark.parametrize(
    ("offset", "size"), [(2**64 - 8, 16), (2**63, 2**63), (8, 2**64 - 4), (0, 65), (65, 0)]
)
def test_an_overflowing_slice_is_an_error(offset, size):
    with pytest.raises(_core.DispatchError, match="range within the 64 bytes|0 to 2.63 - 1, got"):
        _core.open("cpu").allocate(64).slice(offset, size)
