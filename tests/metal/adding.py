"""Two kernels on one array, for tests of what surrounds them."""

from __future__ import annotations

from metalbench import _core

ADD = """
#include <metal_stdlib>
using namespace metal;
kernel void add(device float* x, constant float& step, uint i [[thread_position_in_grid]]) {
  x[i] += step;
}
kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }
"""


def dispatch(pipeline, x, **arguments):
    """A thread for each element of `x`."""
    return _core.Dispatch(pipeline, {"x": x, **arguments}, threads_in_grid=len(x), threads=32)
