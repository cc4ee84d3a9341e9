"""Atomic operations, in the order of the lanes."""

from __future__ import annotations

import numpy as np
import pytest
from vectorize.launches import emit_text

OUT = np.zeros(32, "u4")
UPDATES = {
    "add": lambda x, v: x + v,
    "sub": lambda x, v: x - v,
    "and": lambda x, v: x & v,
    "or": lambda x, v: x | v,
    "xor": lambda x, v: x ^ v,
    "nand": lambda x, v: ~(x & v),
    "max": lambda x, v: x if x.view("i4") > v.view("i4") else v,
    "min": lambda x, v: x if x.view("i4") < v.view("i4") else v,
    "umax": max,
    "umin": min,
    "xchg": lambda x, v: v,
}


@pytest.mark.parametrize("address", ["%counter", "%places.lane"], ids=["one", "many"])
@pytest.mark.parametrize("operation", UPDATES)
def test_atomic_updates(check, operation, address):
    """Each lane gets the result of the previous one."""
    body = f"""
        %v = load i32, ptr %a.lane
        %before = atomicrmw {operation} ptr {address}, i32 %v monotonic, align 4
        store i32 %before, ptr %out.lane"""

    def want(t, a, counter, places, out):
        for lane in t.lane:
            where = (counter, 0) if address == "%counter" else (places, lane)
            out[lane] = where[0][where[1]]
            where[0][where[1]] = UPDATES[operation](out[lane], a[lane])

    a = np.random.default_rng(1).integers(0, 2**32, 32, "u4")
    places = np.random.default_rng(2).integers(0, 2**32, 32, "u4")
    check(body, want, a=a, counter=np.array([77], "u4"), places=places, out=OUT)


@pytest.mark.parametrize("update", [*UPDATES, "cmpxchg"])
def test_atomic_updates_in_threadgroup_memory(check, update):
    """No other thread intervenes: most need no atomic instruction."""
    do = f"%before = atomicrmw {update} ptr %place, i32 %v monotonic, align 4"
    if update == "cmpxchg":
        do = """%both = cmpxchg weak ptr %place, i32 %expected, i32 %v monotonic monotonic, align 4
        %old = extractvalue { i32, i1 } %both, 0
        %is = extractvalue { i32, i1 } %both, 1
        %before = select i1 %is, i32 %old, i32 7"""
    body = f"""
        %v = load i32, ptr %a.lane
        %n = and i32 %v, 7
        %n64 = zext i32 %n to i64
        %place = getelementptr i32, ptr %arena, i64 %n64
        {do}
        store i32 %before, ptr %out.lane
        %after = load i32, ptr %place
        store i32 %after, ptr %last.lane"""
    first = np.arange(4, 8, dtype="u1").view("u4")[0]

    def update_value(x, v):
        if update == "cmpxchg":
            return v if x == first else x
        return UPDATES[update](x, v)

    def want(t, a, out, last, **numbers):
        bins = np.arange(32, dtype="u1").view("u4").copy()
        for lane in t.lane:
            at = a[lane] & 7
            out[lane], bins[at] = bins[at], update_value(bins[at], a[lane])
            if update == "cmpxchg" and out[lane] != first:
                out[lane] = 7
        last[t.lane] = bins[a[t.lane] & 7]

    a = np.random.default_rng(4).integers(0, 2**32, 32, "u4")
    numbers = {"expected": int(first)} if update == "cmpxchg" else {}
    check(body, want, a=a, out=OUT, last=OUT, **numbers)
    text = emit_text(body, a=a, out=OUT, last=OUT, **numbers)
    assert ("atomicrmw" in text or "cmpxchg" in text) == (update == "nand")


def test_unused_results_of_atomics_are_not_stored():
    """The only stored vector is that of the operands."""
    body = """
        %v = load i32, ptr %a.lane
        %k64 = zext i32 %v to i64
        %place = getelementptr i32, ptr %counts, i64 %k64
        %before = atomicrmw add ptr %place, i32 1 monotonic, align 4"""
    text = emit_text(body, a=OUT, counts=OUT)
    asked = emit_text(body + "\nstore i32 %before, ptr %out.lane", a=OUT, counts=OUT, out=OUT)
    assert text.count("alloca") < asked.count("alloca")


def test_all_lanes_add_one_value_to_one_place(check):
    """Uniform operands: yet each lane adds."""
    body = """
        %before = atomicrmw add ptr %counter, i32 %n monotonic, align 4
        store i32 %before, ptr %out.lane"""

    def want(t, counter, out, n):
        out[t.lane] = counter[0] + np.arange(len(t.lane)) * n
        counter[0] += np.uint32(n * len(t.lane))

    check(body, want, counter=np.array([5], "u4"), out=OUT, n=3)


def test_compare_and_exchange(check):
    """Its result is a struct of every lane: what was there, and whether it was as expected."""
    body = """
        %e = load i32, ptr %expected.lane
        %both = cmpxchg weak ptr %places.lane, i32 %e, i32 %lane monotonic monotonic, align 4
        %before = extractvalue { i32, i1 } %both, 0
        %done = extractvalue { i32, i1 } %both, 1
        %r = select i1 %done, i32 %before, i32 -1
        store i32 %r, ptr %out.lane"""

    def want(t, expected, places, out):
        same = expected[t.lane] == places[t.lane]
        out[t.lane] = np.where(same, places[t.lane], 2**32 - 1)
        places[t.lane] = np.where(same, t.lane, places[t.lane])

    places = np.arange(32, dtype="u4") * 3
    expected = places + (np.arange(32, dtype="u4") % 3 == 0)
    check(body, want, expected=expected, places=places, out=OUT)


def test_an_atomic_result_through_a_phi(check):
    """A struct that one way brings, and another does not."""
    body = """
        %v = load i32, ptr %a.lane
        %c = icmp ult i32 %v, 10
        br i1 %c, label %then, label %end
      then:
        %both = cmpxchg ptr %counter, i32 %n, i32 %v seq_cst monotonic, align 4
        br label %end
      end:
        %p = phi { i32, i1 } [ %both, %then ], [ { i32 9, i1 false }, %entry ]
        %before = extractvalue { i32, i1 } %p, 0
        %done = extractvalue { i32, i1 } %p, 1
        %d = zext i1 %done to i32
        %twice = shl i32 %before, 1
        %r = or i32 %twice, %d
        store i32 %r, ptr %out.lane"""

    def want(t, a, counter, out, n):
        for lane in t.lane:
            before, done = 9, False
            if a[lane] < 10:
                before, done = counter[0], counter[0] == n
                counter[0] = a[lane] if done else counter[0]
            out[lane] = 2 * before + done

    a = np.random.default_rng(3).integers(0, 20, 32, "u4")
    check(body, want, a=a, counter=np.array([5], "u4"), out=OUT, n=5)
