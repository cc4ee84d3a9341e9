"""SIMD-group functions, against numpy over the lanes."""

from __future__ import annotations

import numpy as np
import pytest

LANES = np.arange(32)
INTEGERS = np.array([(7 * i) % 23 - 9 for i in range(32)], np.int32)
FACTORS = np.where(LANES % 5 == 0, 2.0, 1.0).astype(np.float32)

REDUCTIONS = {
    "simd_sum": np.add,
    "simd_product": np.multiply,
    "simd_min": np.minimum,
    "simd_max": np.maximum,
    "simd_and": np.bitwise_and,
    "simd_or": np.bitwise_or,
    "simd_xor": np.bitwise_xor,
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction_reaches_every_lane(threadgroup, name):
    got = threadgroup(f"y[tid] = {name}(x[tid]);", INTEGERS, result="int")
    np.testing.assert_array_equal(got, np.full(32, REDUCTIONS[name].reduce(INTEGERS)))


@pytest.mark.parametrize("kind", ["float", "half", "bfloat", "short", "char", "long"])
def test_sum_of_every_type(threadgroup, kind):
    x = (LANES % 8).astype(np.float32)
    got = threadgroup(f"y[tid] = float(simd_sum({kind}(x[tid])));", x)
    np.testing.assert_array_equal(got, np.full(32, x.sum()))


def test_sum_of_vectors(threadgroup):
    body = (
        "float4 v = simd_sum(float4(x[tid], 1, 2, tid)); y[tid] = dot(v, float4(1, 10, 100, 1000));"
    )
    got = threadgroup(body, FACTORS)
    np.testing.assert_array_equal(got, np.full(32, FACTORS.sum() + 320 + 6400 + 496000))


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(("name", "operation"), [("sum", np.cumsum), ("product", np.cumprod)])
def test_prefix(threadgroup, name, operation, exclusive):
    which = "exclusive" if exclusive else "inclusive"
    got = threadgroup(f"y[tid] = simd_prefix_{which}_{name}(x[tid]);", FACTORS)
    want = operation(FACTORS)
    if exclusive:
        want = np.concatenate([[0 if name == "sum" else 1], want[:-1]])
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("call", "source"),
    [
        ("simd_shuffle(x[tid], 31 - lane)", 31 - LANES),
        ("simd_shuffle_xor(x[tid], 5)", LANES ^ 5),
        ("simd_shuffle_rotate_up(x[tid], 3)", (LANES - 3) % 32),
        ("simd_shuffle_rotate_down(x[tid], 3)", (LANES + 3) % 32),
        ("simd_broadcast(x[tid], 17)", np.full(32, 17)),
        ("simd_broadcast_first(x[tid])", np.zeros(32, int)),
        ("quad_broadcast(x[tid], 2)", LANES // 4 * 4 + 2),
        ("quad_shuffle(x[tid], 3 - lane % 4)", LANES // 4 * 4 + 3 - LANES % 4),
        ("quad_shuffle_xor(x[tid], 1)", LANES ^ 1),
        ("quad_shuffle_rotate_up(x[tid], 1)", LANES // 4 * 4 + (LANES - 1) % 4),
        ("quad_shuffle_rotate_down(x[tid], 1)", LANES // 4 * 4 + (LANES + 1) % 4),
        ("quad_broadcast_first(x[tid])", LANES // 4 * 4),
    ],
)
def test_shuffle(threadgroup, call, source):
    got = threadgroup(f"y[tid] = {call};", INTEGERS, result="int")
    np.testing.assert_array_equal(got, INTEGERS[source])


@pytest.mark.parametrize("direction", ["up", "down"])
def test_shuffle_from_beyond_the_simdgroup_keeps_a_lanes_own(threadgroup, direction):
    got = threadgroup(f"y[tid] = simd_shuffle_{direction}(x[tid], 3);", INTEGERS, result="int")
    want = INTEGERS.copy()
    if direction == "up":
        want[3:] = INTEGERS[:-3]
    else:
        want[:-3] = INTEGERS[3:]
    np.testing.assert_array_equal(got, want)


def test_shuffle_and_fill(threadgroup):
    fill = INTEGERS + 100
    up = threadgroup(
        "y[tid] = simd_shuffle_and_fill_up(x[tid], x[tid] + 100, 3);", INTEGERS, result="int"
    )
    np.testing.assert_array_equal(up, np.concatenate([fill[-3:], INTEGERS[:-3]]))
    down = threadgroup(
        "y[tid] = simd_shuffle_and_fill_down(x[tid], x[tid] + 100, 3, 8);", INTEGERS, result="int"
    )
    parts = [np.concatenate([INTEGERS[p + 3 : p + 8], fill[p : p + 3]]) for p in range(0, 32, 8)]
    np.testing.assert_array_equal(down, np.concatenate(parts))


def test_simd_functions_in_a_branch_use_its_lanes_only(threadgroup):
    body = "int r; if (lane < 16) r = simd_sum(1); else r = simd_sum(2); y[tid] = r;"
    got = threadgroup(body, INTEGERS, result="int")
    np.testing.assert_array_equal(got, np.repeat([16, 32], 16))


def test_returned_lanes_are_inactive(threadgroup):
    body = """
        if (lane % 3 == 0) return;
        y[tid] = simd_sum(x[tid]) * 1000 + simd_broadcast_first(x[tid]);
    """
    got = threadgroup(body, INTEGERS, result="int")
    active = LANES % 3 != 0
    want = np.where(active, INTEGERS[active].sum() * 1000 + INTEGERS[1], 0)
    np.testing.assert_array_equal(got, want)


def test_partial_simdgroup_has_fewer_lanes(threadgroup):
    x = np.ones(40, np.int32)
    got = threadgroup("y[tid] = simd_sum(x[tid]);", x, result="int", threads=40)
    np.testing.assert_array_equal(got, [32] * 32 + [8] * 8)


def test_minimum_ignores_nan(threadgroup):
    x = np.where(LANES == 4, np.nan, LANES).astype(np.float32)
    got = threadgroup("y[tid] = simd_min(x[tid]) + 100 * simd_max(x[tid]);", x)
    np.testing.assert_array_equal(got, np.full(32, 3100))


def test_votes(threadgroup):
    body = """
        uint m = uint(uint64_t(simd_ballot(x[tid] > 0)));
        uint q = uint(quad_vote::vote_t(quad_ballot(x[tid] > 0)));
        y[tid] = m ^ (q << 8) ^ (simd_any(x[tid] > 12) ? 1 : 0) ^ (simd_all(x[tid] > -10) ? 2 : 0)
               ^ (simd_is_first() ? 4 : 0) ^ (quad_is_first() ? 8 : 0)
               ^ (quad_any(x[tid] > 5) ? 16 : 0) ^ (quad_all(x[tid] > -5) ? 32 : 0);
    """
    got = threadgroup(body, INTEGERS, result="uint")
    positive = INTEGERS > 0
    ballot = int((positive * (1 << LANES.astype(np.int64))).sum())
    quads = INTEGERS.reshape(8, 4)
    for lane in range(32):
        quad = quads[lane // 4]
        votes = int(((quad > 0) * (1 << np.arange(4))).sum())
        flags = (INTEGERS > 12).any() * 1 + (INTEGERS > -10).all() * 2 + (lane == 0) * 4
        flags += (lane % 4 == 0) * 8 + (quad > 5).any() * 16 + (quad > -5).all() * 32
        assert got[lane] == ballot ^ (votes << 8) ^ int(flags)


@pytest.mark.parametrize("name", ["sum", "product", "min", "max", "and", "or", "xor"])
def test_quad_reduction(threadgroup, name):
    got = threadgroup(f"y[tid] = quad_{name}(x[tid]);", INTEGERS, result="int")
    want = REDUCTIONS[f"simd_{name}"].reduce(INTEGERS.reshape(8, 4), axis=1)
    np.testing.assert_array_equal(got, np.repeat(want, 4))


def test_quad_prefix(threadgroup):
    body = "y[tid] = quad_prefix_inclusive_sum(x[tid]) * 1000 + quad_prefix_exclusive_sum(x[tid]);"
    got = threadgroup(body, INTEGERS, result="int")
    sums = np.cumsum(INTEGERS.reshape(8, 4), axis=1)
    want = sums * 1000 + sums - INTEGERS.reshape(8, 4)
    np.testing.assert_array_equal(got, want.ravel())


def test_sum_is_the_same_every_time(threadgroup):
    x = (np.random.default_rng(3).normal(size=32) * 1e6).astype(np.float32)
    once = threadgroup("y[tid] = simd_sum(x[tid]);", x)
    assert len(set(once.tolist())) == 1
    np.testing.assert_array_equal(once, threadgroup("y[tid] = simd_sum(x[tid]);", x))


def test_loops_of_different_length(threadgroup):
    body = "int r = 0; for (uint i = 0; i <= lane; ++i) r += simd_sum(1); y[tid] = r;"
    got = threadgroup(body, INTEGERS, result="int")
    np.testing.assert_array_equal(got, np.cumsum(32 - LANES))
