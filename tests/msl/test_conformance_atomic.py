"""Chapters 2.6 and 6.15: every atomic function on every type, in device and threadgroup memory."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from msl.conformance import TYPES

from metalbench import _core

THREADS = 128
FETCHES = {
    "add": np.add,
    "sub": np.subtract,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "min": np.minimum,
    "max": np.maximum,
}
COVERS = {
    "2.6 Atomic types": {
        *("atomic_int", "atomic_uint", "atomic_bool", "atomic_float", "atomic_ulong"),
        "atomic<T>",
    },
    "6.15 Atomic functions": {f"atomic_fetch_{name}_explicit" for name in FETCHES}
    | {f"atomic_{name}_explicit" for name in ("store", "load", "exchange", "min", "max")}
    | {"atomic_compare_exchange_weak_explicit", "atomic_thread_fence"},
}


@pytest.fixture(params=["device", "threadgroup"])
def atomics(request, cpu):
    """Run a body on `cell`, an atomic of a type and space that begins as `start`.

    The body sees `value`, the thread's own number; the cell's last value comes back, and what the
    threads put into out[i].
    """

    def run(kind: str, start: int, body: str, values: np.ndarray, **options):
        space = request.param
        own = "threadgroup C shared; threadgroup C* cell = &shared;"
        source = f"""#include <metal_stdlib>
            using namespace metal;
            using T = {kind};
            using C = atomic<T>;
            static_assert(is_same_v<C, atomic_{kind}>);
            kernel void f(device C* memory, device const T* x, device T* out, device T* last,
                          uint i [[thread_position_in_grid]]) {{
              {own if space == "threadgroup" else "device C* cell = memory;"}
              if (i == 0) atomic_store_explicit(cell, T({start}), memory_order_relaxed);
              threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
              const T value = x[i];
              {body}
              threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
              if (i == 0) last[0] = atomic_load_explicit(cell, memory_order_relaxed);
            }}"""
        out, last = np.zeros(THREADS, TYPES[kind]), np.zeros(1, TYPES[kind])
        arguments = {"memory": np.zeros(1, TYPES[kind]), "x": values, "out": out, "last": last}
        pipeline = cpu.compile(source, **options).pipeline()
        cpu.run([_core.Dispatch(pipeline, arguments, threadgroups=1, threads=THREADS)])
        return last[0], out

    return run


def _values(kind: str) -> np.ndarray:
    return np.random.default_rng(2).integers(0, 1000, THREADS).astype(TYPES[kind])


@pytest.mark.parametrize("checked", [False, True], ids=["", "checked"])
@pytest.mark.parametrize("name", FETCHES)
@pytest.mark.parametrize("kind", ["int", "uint"])
def test_fetch(atomics, kind, name, checked):
    body = f"out[i] = atomic_fetch_{name}_explicit(cell, value, memory_order_relaxed);"
    values = _values(kind)
    last, before = atomics(kind, 500, body, values, checked=checked)
    start = TYPES[kind](500)
    with np.errstate(over="ignore"):
        assert last == reduce(FETCHES[name], values, start)
    # Somebody was first.
    assert start in before


@pytest.mark.parametrize("name", ["add", "sub"])
def test_fetch_of_floats(atomics, name):
    body = f"out[i] = atomic_fetch_{name}_explicit(cell, value, memory_order_relaxed);"
    values = _values("float")
    last, _ = atomics("float", 500, body, values)
    assert last == 500 + values.sum() * (1 if name == "add" else -1)


@pytest.mark.parametrize("name", ["min", "max"])
def test_minimum_and_maximum_of_64_bits(atomics, name):
    values = _values("ulong") << 40
    body = f"atomic_{name}_explicit(cell, value, memory_order_relaxed);"
    last, _ = atomics("ulong", 1 << 45, body, values)
    assert last == getattr(np, name)(np.append(values, np.uint64(1 << 45)))


@pytest.mark.parametrize("kind", ["int", "uint", "float", "bool", "ulong"])
def test_exchange_passes_every_value_on(atomics, kind):
    values = _values(kind)
    body = "out[i] = atomic_exchange_explicit(cell, value, memory_order_relaxed);"
    last, out = atomics(kind, 1, body, values)
    everything = sorted([TYPES[kind](1), *values])
    assert sorted([last, *out]) == everything


@pytest.mark.parametrize("kind", ["int", "uint", "float", "bool", "ulong"])
def test_compare_and_exchange(atomics, kind):
    body = """
        T expected = T(1);
        bool first = false;
        do {
          first = atomic_compare_exchange_weak_explicit(cell, &expected, T(0), memory_order_relaxed,
                                                        memory_order_relaxed);
        } while (!first && expected == T(1));
        out[i] = first ? T(1) : expected;
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_relaxed);
    """
    # Fences are of metal3.2.
    last, out = atomics(kind, 1, body, _values(kind), macros={"__METAL_VERSION__": "320"})
    assert last == 0
    assert sorted(out) == [0] * (THREADS - 1) + [1]


def test_volatile_objects(cpu, compiles):
    compiles("""
        void f(volatile device atomic_uint* a, volatile threadgroup atomic_int* b) {
          uint seen = atomic_load_explicit(a, memory_order_relaxed);
          atomic_store_explicit(a, seen + 1, memory_order_relaxed);
          atomic_exchange_explicit(b, 3, memory_order_relaxed);
          atomic_fetch_add_explicit(b, 1, memory_order_relaxed);
        }
    """)
