"""Atomic functions on device and threadgroup memory."""

from __future__ import annotations

import numpy as np
import pytest

VALUES = np.random.default_rng(9).permutation(np.arange(1, 257)).astype(np.int32)

RESULTS = {
    "add": VALUES.sum(),
    "sub": -VALUES.sum(),
    "min": 0,
    "max": 256,
    "or": np.bitwise_or.reduce(VALUES),
    "xor": np.bitwise_xor.reduce(VALUES),
    "and": 0,
}


@pytest.mark.parametrize("kind", ["int", "uint"])
@pytest.mark.parametrize("operation", RESULTS)
def test_fetch_in_threadgroup_memory(threadgroup, operation, kind):
    body = f"""
        threadgroup atomic_{kind} total;
        if (tid == 0) atomic_store_explicit(&total, 0, memory_order_relaxed);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        atomic_fetch_{operation}_explicit(&total, {kind}(x[tid]), memory_order_relaxed);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        y[tid] = atomic_load_explicit(&total, memory_order_relaxed);
    """
    got = threadgroup(body, VALUES, result=kind, threads=256)
    want = np.int64(RESULTS[operation]).astype(got.dtype)
    np.testing.assert_array_equal(got, np.full(256, want))


def test_float_add_exchange_and_compare(threadgroup):
    body = """
        device atomic_float* sum = (device atomic_float*)y;
        device atomic_uint* most = (device atomic_uint*)(y + 1);
        atomic_fetch_add_explicit(sum, float(x[tid]), memory_order_relaxed);
        uint seen = atomic_load_explicit(most, memory_order_relaxed);
        while (seen < uint(x[tid]) &&
               !atomic_compare_exchange_weak_explicit(
                   most, &seen, uint(x[tid]), memory_order_relaxed, memory_order_relaxed)) {
        }
        atomic_exchange_explicit((device atomic_uint*)(y + 2), 7u, memory_order_relaxed);
    """
    got = threadgroup(body, VALUES, threads=256, count=3)
    assert got[0] == VALUES.sum()
    assert list(got[1:].view(np.uint32)) == [256, 7]


def test_a_thread_can_wait_for_another(threadgroup):
    body = """
        threadgroup atomic_uint flag;
        if (tid == 0) atomic_store_explicit(&flag, 0, memory_order_relaxed);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        while (atomic_load_explicit(&flag, memory_order_relaxed) != 63 - tid) {
        }
        y[tid] = x[tid];
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);
    """
    got = threadgroup(body, VALUES, result="int", threads=64)
    np.testing.assert_array_equal(got, VALUES[:64])


def test_ulong_minimum_and_maximum(threadgroup):
    body = """
        device atomic_ulong* most = (device atomic_ulong*)y;
        atomic_max_explicit(most, (ulong(x[tid]) << 32) + tid, memory_order_relaxed);
    """
    got = threadgroup(body, VALUES, result="ulong", threads=256, count=1)
    assert got[0] == (256 << 32) + int(np.argmax(VALUES))
