"""Tile copies by the names that Metal's compiler knows them by, as libraries declare them."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

pytestmark = pytest.mark.usefixtures("both_ways")

COVERS = {
    "Undocumented, but in use": {
        *("simdgroup_async_copy_1d", "simdgroup_async_copy_2d", "wait_simdgroup_events"),
    }
}

X = np.arange(1, 51, dtype=np.float32).reshape(5, 10)

DECLARED = """
#include <metal_stdlib>
using namespace metal;

struct _simdgroup_event_t;
thread _simdgroup_event_t* __metal_simdgroup_async_copy_1d(
    ulong, ulong, threadgroup void*, const device void*, ulong)
    __asm("air.simdgroup_async_copy_1d.p3i8.p1i8");
thread _simdgroup_event_t* __metal_simdgroup_async_copy_1d(
    ulong, ulong, device void*, const threadgroup void*, ulong)
    __asm("air.simdgroup_async_copy_1d.p1i8.p3i8");
thread _simdgroup_event_t* __metal_simdgroup_async_copy_2d(
    ulong, ulong, threadgroup void*, ulong, ulong, ulong2, const device void*, ulong, ulong, ulong2, long2, int)
    __asm("ESCAPEair.simdgroup_async_copy_2d.p3i8.p1i8");
thread _simdgroup_event_t* __metal_simdgroup_async_copy_2d(
    ulong, ulong, device void*, ulong, ulong, ulong2, const threadgroup void*, ulong, ulong, ulong2, long2, int)
    __asm("ESCAPEair.simdgroup_async_copy_2d.p1i8.p3i8");
void __metal_wait_simdgroup_events(int, thread _simdgroup_event_t**) __asm("air.wait_simdgroup_events");

namespace metal {
struct simdgroup_event {
  thread _simdgroup_event_t* event;
  static void wait(int count, thread simdgroup_event* events) {
    __metal_wait_simdgroup_events(count, reinterpret_cast<thread _simdgroup_event_t**>(events));
  }
};
}

"""
SOURCE = (
    DECLARED
    + """
// A tile of at most 4 x 6, padded to 5 x 8, goes to threadgroup memory and comes back transposed.
kernel void copy(device const float* x, device float* padded, device float* back, constant uint2& valid,
                 constant int& clamp, uint lane [[thread_index_in_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float tile[5][8];
  if (simdgroup == 0) {
    simdgroup_event event;
    event.event = __metal_simdgroup_async_copy_2d(
        sizeof(float), alignof(float), tile, 8, 1, ulong2(8, 5), x, 10, 1, ulong2(valid), long2(0), clamp);
    simdgroup_event::wait(1, &event);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup == 1) {
    simdgroup_event events[2];
    events[0].event = __metal_simdgroup_async_copy_1d(sizeof(float), alignof(float), padded, &tile[0][0], 40);
    events[1].event = __metal_simdgroup_async_copy_2d(
        sizeof(float), alignof(float), back, 10, 1, ulong2(valid), &tile[0][0], 8, 1, ulong2(valid), long2(0), 0);
    simdgroup_event::wait(2, events);
  }
}
"""
)


def run_copies(device, columns, rows, clamp, *, escape="", checked=False):
    """Return the results of the kernel for a tile of that size: padded, and without padding."""
    pipeline = device.compile(SOURCE.replace("ESCAPE", escape), checked=checked).pipeline()
    padded, back = np.full((5, 8), -1, np.float32), np.full((5, 10), -1, np.float32)
    arguments = {
        "x": X,
        "padded": padded,
        "back": back,
        "valid": np.array([columns, rows], np.uint32),
        "clamp": clamp,
    }
    device.run([_core.Dispatch(pipeline, arguments, threadgroups=1, threads=64)])
    return padded, back


def compute_expected(columns, rows, clamp):
    """The same by NumPy."""
    tile = X[:rows, :columns]
    around = ((0, 5 - rows), (0, 8 - columns))
    back = np.full((5, 10), -1, np.float32)
    back[:rows, :columns] = tile
    return np.pad(tile, around, mode="edge" if clamp else "constant"), back


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("escape", ["", "\\1"])
@pytest.mark.parametrize("clamp", [0, 1])
@pytest.mark.parametrize(("columns", "rows"), [(8, 5), (6, 4), (1, 1), (8, 1)])
def test_tiles_are_copied_and_padded(columns, rows, clamp, escape, checked):
    got = run_copies(_core.open("cpu"), columns, rows, clamp, escape=escape, checked=checked)
    for mine, wanted in zip(got, compute_expected(columns, rows, clamp), strict=True):
        np.testing.assert_array_equal(mine, wanted)


def test_each_of_several_sources_has_its_copies():
    device = _core.open("cpu")
    # From the second one on what precedes them may be precompiled.
    for name in ("first", "second", "third"):
        source = SOURCE.replace("ESCAPE", "").replace("kernel void copy", f"kernel void {name}")
        assert device.compile(source).pipeline().name == name
