import pytest

from metalbench.msl.frontend.lower import lower


def fibers(source, text):
    return lower(source(text), "f", {}).needs_fibers


@pytest.mark.parametrize(
    "statement",
    [
        "threadgroup_barrier(mem_flags::mem_threadgroup);",
        "a[0] = metal::simd_sum(a[1]);",
        "a[0] = quad_broadcast(a[1], 0);",
        "simdgroup_float8x8 m;",
        "while (atomic_load_explicit(a, memory_order_relaxed) == 0) {}",
    ],
)
def test_requires_fibers_for_collectives(source, statement):
    assert fibers(source, f"kernel void f(device int* a) {{ {statement} }}")


@pytest.mark.parametrize(
    "statement",
    [
        "a[0] = simd_lane_id;",
        "uint simd_group = 1; a[0] = simd_group;",
        "a[0] = atomic_load_explicit(a, memory_order_relaxed);",
        "atomic_fetch_add_explicit(a, 1, memory_order_relaxed);",
    ],
)
def test_requires_fibers_ignores_similar_names(source, statement):
    parameters = "device int* a, uint simd_lane_id [[thread_index_in_simdgroup]]"
    assert not fibers(source, f"kernel void f({parameters}) {{ {statement} }}")


LIBRARY = """
struct Max { template <typename T> T reduce(T x) { return simd_max(x); } };
using Op = Max;
template <typename T, typename O> T all(T x) { return O().reduce(x); }
float plain(float x) { return x; }
"""


@pytest.mark.parametrize(("call", "expected"), [("all<float, Op>(1)", True), ("plain(1)", False)])
def test_find_reachable_follows_calls(source, call, expected):
    assert (
        fibers(source, f"{LIBRARY} kernel void f(device float* a) {{ *a = {call}; }}") is expected
    )


def test_find_reachable_follows_template_arguments(source):
    text = f"""{LIBRARY} template <typename O>
    kernel void g(device float* a) {{ *a = O().reduce(*a); }}
    template [[host_name("f")]] [[kernel]] decltype(g<Max>) g<Max>;"""
    assert fibers(source, text)
