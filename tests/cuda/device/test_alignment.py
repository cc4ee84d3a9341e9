"""Vectors at addresses that are not aligned, run on the cuda device."""

from __future__ import annotations

import os

import numpy as np
import pytest

from metalbench import _core

# Four elements from each of `count` places, which begin at element `first` and are `pitch` apart.
COPY = """
kernel void k(device const TYPE* x, device TYPE* y, constant uint& first, constant uint& pitch,
              uint i [[thread_position_in_grid]]) {
  const ulong at = first + ulong(i) * pitch;
  TYPE4 v = *(device const TYPE4*)(x + at);
  *(device TYPE4*)(y + at) = v + TYPE4(1, 2, 3, 4);
}"""
SHARED = """
kernel void k(device const TYPE* x, device TYPE* y, constant uint& first, constant uint& pitch,
              uint i [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
  threadgroup TYPE s[1024];
  for (uint k = i; k < 1024; k += n) s[k] = x[k];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint at = first + i * pitch;
  TYPE4 v = *(threadgroup TYPE4*)(s + at);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  *(threadgroup TYPE4*)(s + at) = v + TYPE4(1, 2, 3, 4);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint k = i; k < 1024; k += n) y[k] = s[k];
}"""
WHOLE = """
kernel void k(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  ((device float4*)y)[i] = 2 * ((device const float4*)x)[i];
}"""
DTYPES = {"float": np.float32, "half": np.float16, "uint": np.uint32, "uchar": np.uint8}
COUNT = 64


@pytest.mark.parametrize("offset", range(4))
@pytest.mark.parametrize("pitch", [4, 5, 7])
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize(
    "source",
    [
        pytest.param(COPY, id="device"),
        pytest.param(
            SHARED,
            id="threadgroup",
            marks=pytest.mark.skipif(
                "CUDA_DOUBLE" in os.environ, reason="threads of the double cannot meet"
            ),
        ),
    ],
)
def test_vectors_are_accessed_at_any_element(device, compiled, source, kind, pitch, offset):
    x = (np.arange(1024) % 100).astype(DTYPES[kind])
    y = x.copy()
    pipeline = compiled(source.replace("TYPE", kind))
    given = {"x": x, "y": y, "first": offset, "pitch": pitch}
    device.run([_core.Dispatch(pipeline, given, threads_in_grid=COUNT, threads=COUNT)])
    expected = x.copy()
    for place in range(COUNT):
        at = offset + pitch * place
        expected[at : at + 4] += np.array([1, 2, 3, 4], DTYPES[kind])
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("offset", range(4))
@pytest.mark.parametrize("other", range(4))
def test_buffers_may_begin_at_any_element(device, compiled, offset, other):
    x = np.arange(4 * COUNT + 4, dtype=np.float32)
    y = np.zeros_like(x)
    pipeline = compiled(WHOLE)
    given = {"x": x[offset : offset + 4 * COUNT], "y": y[other : other + 4 * COUNT]}
    device.run([_core.Dispatch(pipeline, given, threads_in_grid=COUNT, threads=COUNT)])
    expected = np.zeros_like(y)
    expected[other : other + 4 * COUNT] = 2 * x[offset : offset + 4 * COUNT]
    np.testing.assert_array_equal(y, expected)
