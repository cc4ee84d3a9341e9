"""Buffers: sharing, slices, lifetime."""

from __future__ import annotations

import gc

import ml_dtypes
import numpy as np
import pytest

from metalbench import _core


def test_an_aligned_array_is_shared(device):
    array = np.zeros(1024, np.float32)
    buffer = device.buffer(array)
    buffer.numpy("float32")[3] = 7
    assert buffer.shared == (array[3] == 7)
    assert buffer.nbytes == 4096


def test_a_read_only_array_is_copied(device):
    array = np.arange(16, dtype=np.int32)
    array.setflags(write=False)
    buffer = device.buffer(array)
    assert not buffer.shared
    np.testing.assert_array_equal(buffer.numpy("int32"), array)


def test_strides_are_refused(device):
    with pytest.raises(_core.DispatchError, match="C-contiguous"):
        device.buffer(np.zeros((4, 4), np.float32)[:, ::2])


def test_dtypes_beyond_numpy(device):
    array = np.arange(8, dtype=np.float32).astype(ml_dtypes.bfloat16)
    assert device.buffer(array).numpy(ml_dtypes.bfloat16).tolist() == list(range(8))


def test_a_slice_is_the_same_memory(device):
    whole = device.allocate(100)
    whole.slice(10, 20).slice(5, 4).numpy()[:] = 9
    assert whole.numpy().nonzero()[0].tolist() == [15, 16, 17, 18]
    with pytest.raises(_core.DispatchError, match="within the 20 bytes"):
        whole.slice(10, 20).slice(15, 6)


def test_views_and_dispatches_keep_memory_alive(device, compile_kernel):
    pipeline = compile_kernel(
        "kernel void f(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"
    )
    view = device.allocate(4096).numpy("float32")
    dispatch = _core.Dispatch(
        pipeline, {"x": device.buffer(view)}, threads_in_grid=1024, threads=64
    )
    del pipeline
    gc.collect()
    for _ in range(3):
        device.run([dispatch])
    assert (view == 3).all()


def test_new_memory_is_zero_and_page_aligned(device):
    view = device.allocate(10_000).numpy()
    assert not view.any()
    assert view.ctypes.data % 4096 == 0
