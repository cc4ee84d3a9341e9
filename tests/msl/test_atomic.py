"""Atomic functions on device and threadgroup memory."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

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


@pytest.mark.stays_on_fibers
def test_a_thread_can_poll_an_atomic_of_another(threadgroup):
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
    macros = {"__METAL_VERSION__": "320"}
    got = threadgroup(body, VALUES, result="int", threads=64, macros=macros)
    np.testing.assert_array_equal(got, VALUES[:64])


def test_ulong_minimum_and_maximum(threadgroup):
    body = """
        device atomic_ulong* most = (device atomic_ulong*)y;
        atomic_max_explicit(most, (ulong(x[tid]) << 32) + tid, memory_order_relaxed);
    """
    got = threadgroup(body, VALUES, result="ulong", threads=256, count=1)
    assert got[0] == (256 << 32) + int(np.argmax(VALUES))


@pytest.fixture
def run_checked(cpu):
    """Run a body for 64 threads with checks; `t` is an atomic in threadgroup memory, 0."""

    def run(body: str) -> np.ndarray:
        source = f"""
            #include <metal_stdlib>
            using namespace metal;
            kernel void run(device uint* y, uint tid [[thread_position_in_threadgroup]]) {{
              threadgroup atomic_uint t;
              threadgroup uint* plain = (threadgroup uint*)&t;
              {body}
            }}"""
        y = np.zeros(64, np.uint32)
        pipeline = cpu.compile(source, checked=True).pipeline()
        cpu.run([_core.Dispatch(pipeline, {"y": y}, threadgroups=(1, 1, 1), threads=(64, 1, 1))])
        return y

    return run


STORE = "if (tid == 0) atomic_store_explicit(&t, 5, memory_order_relaxed);"
ADD = "atomic_fetch_add_explicit(&t, 1, memory_order_relaxed);"
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"


@pytest.mark.parametrize(
    "start",
    [STORE, "atomic_exchange_explicit(&t, 5, memory_order_relaxed);", "if (tid == 0) *plain = 5;"],
)
def test_atomic_accesses_do_not_race_with_each_other(run_checked, start):
    got = run_checked(f"{start} {BARRIER} {ADD} {ADD} {BARRIER} y[tid] = *plain;")
    np.testing.assert_array_equal(got, np.full(64, 5 + 128))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"{STORE} {BARRIER} {ADD} y[tid] = *plain;", "race in threadgroup memory"),
        (f"{STORE} {BARRIER} if (tid == 40) *plain = 1; {ADD}", "race in threadgroup memory"),
        (f"{STORE} {BARRIER} y[tid] = *plain; {ADD}", "race in threadgroup memory"),
        (ADD, "no thread of the group has written"),
    ],
)
def test_atomic_and_plain_accesses_race(run_checked, body, message):
    with pytest.raises(_core.KernelFault, match=message):
        run_checked(body)
