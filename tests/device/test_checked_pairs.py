"""The two threads of a reported race, and the order by fences of single threads."""

from __future__ import annotations

import re

import numpy as np
import pytest

from metalbench import _core

THREADGROUP_BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
FENCE = "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);"
THREAD = re.compile(r"thread \((\d+), 0, 0\)(?: of threadgroup \((\d+), 0, 0\))?")


@pytest.fixture
def run(device, compile_kernel):
    if not device.checked_builds:
        pytest.skip("no checked builds on this device")

    def run(parameters, body, *, threads=64, groups=1, **arguments):
        source = f"""kernel void f({parameters}, uint i [[thread_position_in_grid]],
                uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {{
            {body}
        }}"""
        # Fences are of metal3.2.
        pipeline = compile_kernel(source, checked=True, macros={"__METAL_VERSION__": "320"})
        dispatch = _core.Dispatch(pipeline, arguments, threadgroups=groups, threads=threads)
        device.run([dispatch])

    return run


@pytest.fixture
def pair(run):
    """Return the two (thread, threadgroup) of a reported race."""

    def pair(body, *, threads=64, groups=1):
        x, y = np.zeros(1024, np.uint32), np.zeros(threads * groups, np.uint32)
        with pytest.raises(_core.KernelFault, match="race in") as error:
            run("device uint* x, device uint* y", body, threads=threads, groups=groups, x=x, y=y)
        (first, own), (second, other) = THREAD.findall(str(error.value))
        return (int(first), int(own)), (int(second), int(other or own))

    return pair


@pytest.mark.parametrize("writer", [0, 5, 31])
def test_lanes_that_read_a_value_of_another_lane_race(pair, writer):
    first, second = pair(f"y[i] = x[0]; if (t == {writer}) x[0] = 1;", threads=32)
    assert first != second


@pytest.mark.parametrize("writer", [0, 31, 32, 63, 200, 255])
@pytest.mark.parametrize("memory", ["device", "threadgroup"])
def test_simdgroups_that_read_a_value_of_one_simdgroup_race(pair, memory, writer):
    body = f"y[i] = PLACE; simdgroup_barrier(mem_flags::mem_device); if (t == {writer}) PLACE = 1;"
    if memory == "threadgroup":
        first = f"threadgroup uint tile[1]; if (t == 0) tile[0] = 7; {THREADGROUP_BARRIER}"
        body = first + body.replace("PLACE", "tile[0]")
    first, second = pair(body.replace("PLACE", "x[0]"), threads=256)
    assert first[0] // 32 != second[0] // 32


@pytest.mark.parametrize("threads", [1, 32, 64])
@pytest.mark.parametrize("groups", [2, 3, 8])
def test_threadgroups_that_read_a_value_of_one_threadgroup_race(pair, groups, threads):
    """The last one to have read is often the one that writes."""
    for writer in range(groups):
        body = f"y[i] = x[0]; threadgroup_barrier(mem_flags::mem_device); if (g == {writer} && t == 0) x[0] = 1;"
        first, second = pair(body, threads=threads, groups=groups)
        assert first[1] != second[1]


@pytest.mark.parametrize(
    "other",
    [
        "y[i] = x[0];",
        "atomic_fetch_add_explicit((device atomic_uint*)x, 1u, memory_order_relaxed);",
    ],
)
def test_races_of_concurrent_workers_are_found(device, compile_kernel, other):
    """Each of the threadgroups has a worker, and one chance: not one race in 1000 is missed."""
    if not device.checked_builds:
        pytest.skip("no checked builds on this device")
    source = f"""kernel void f(device uint* x, device uint* y, uint i [[thread_position_in_grid]]) {{
        if (i == 0) x[0] = 1; else {{ {other} }}
    }}"""
    pipeline = compile_kernel(source, checked=True)
    for _ in range(1000):
        arguments = dict(x=np.zeros(16, np.uint32), y=np.zeros(2, np.uint32))
        with pytest.raises(_core.KernelFault, match="race in"):
            device.run([_core.Dispatch(pipeline, arguments, threadgroups=2, threads=1)])


def test_thousands_of_threadgroups(pair):
    """Only the end of the other one's number is kept."""
    body = "y[i] = x[0]; threadgroup_barrier(mem_flags::mem_device); if (g == 2999 && t == 0) x[0] = 1;"
    first, second = pair(body, threads=2, groups=3000)
    assert first[1] != second[1]


def test_atomic_updates_of_many_and_a_plain_read_of_the_last(pair):
    body = (
        "atomic_fetch_add_explicit((device atomic_uint*)x, 1u, memory_order_relaxed); y[i] = x[0];"
    )
    first, second = pair(body, threads=32, groups=1)
    assert first != second


FLAG = "if (t == 0) { x[0] = 1; FENCE atomic_store_explicit(flag, 1u, memory_order_relaxed); } return; }"
HAND_OVER = f"""
    if (g == 0) {{ {FLAG}
    if (t == 0) while (READ == 0u) {{}}
    FENCE
    y[t] = x[0];
"""


@pytest.mark.parametrize(
    "read",
    [
        "atomic_load_explicit(flag, memory_order_relaxed)",
        "atomic_exchange_explicit(flag, 0u, memory_order_relaxed)",
        "atomic_fetch_add_explicit(flag, 0u, memory_order_relaxed)",
    ],
)
def test_a_read_of_an_atomic_acquires_only_with_a_fence(run, read):
    body = HAND_OVER.replace("READ", read).replace("FENCE", FENCE)
    parameters = "device uint* x, device atomic_uint* flag, device uint* y"
    memory = {"x": np.zeros(1, np.uint32), "flag": np.zeros(1, np.uint32)}
    run(parameters, body, threads=1, groups=2, y=np.zeros(1, np.uint32), **memory)
    memory = {"x": np.zeros(1, np.uint32), "flag": np.zeros(1, np.uint32)}
    body = HAND_OVER.replace("READ", read).replace("FENCE", "")
    with pytest.raises(_core.KernelFault, match="race in device memory"):
        run(parameters, body, threads=1, groups=2, y=np.zeros(1, np.uint32), **memory)


def test_an_exchange_without_a_used_result_only_writes(run):
    body = f"""threadgroup atomic_uint first;
        if (t == 0) atomic_exchange_explicit(&first, 3u, memory_order_relaxed);
        {THREADGROUP_BARRIER}
        y[i] = atomic_load_explicit(&first, memory_order_relaxed);"""
    run("device uint* y", body, y=np.zeros(64, np.uint32))


def barrier_between(release="", acquire="", before="y[i] = i;", after="z[i] = y[i ^ 63];"):
    return f"{before} {release} {THREADGROUP_BARRIER} {acquire} {after}"


@pytest.mark.parametrize(
    ("release", "acquire"),
    [(FENCE, ""), (FENCE, FENCE), (f"if (t % 2) {{ {FENCE} }}", FENCE)],
)
def test_fences_on_both_sides_of_a_barrier_order(run, release, acquire):
    before = "if (t % 2) y[i] = i;"
    body = barrier_between(release, acquire, before, "if (t % 2 == 0) z[i] = y[i ^ 63];")
    run(
        "device uint* y, device uint* z", body, y=np.zeros(64, np.uint32), z=np.zeros(64, np.uint32)
    )


@pytest.mark.parametrize(
    ("release", "acquire"),
    [
        ("", ""),
        (f"if (t == 0) {{ {FENCE} }}", ""),
        (f"if (t == 0) {{ {FENCE} }}", FENCE),
        ("", FENCE),
        (f"if (t > 0) {{ {FENCE} }}", f"if (t > 1) {{ {FENCE} }}"),
    ],
)
def test_a_fence_of_one_thread_does_not_order_others(run, release, acquire):
    with pytest.raises(_core.KernelFault, match="race in device memory: read of 4 bytes of `y`"):
        run(
            "device uint* y, device uint* z",
            barrier_between(release, acquire),
            y=np.zeros(64, np.uint32),
            z=np.zeros(64, np.uint32),
        )


def test_a_fence_after_an_atomic_read_does_not_order_the_threads_of_a_group(run):
    body = f"""
        y[i] = i;
        if (t == 0) {{ atomic_load_explicit(flag, memory_order_relaxed); {FENCE} }}
        z[i] = y[i ^ 63];"""
    with pytest.raises(_core.KernelFault, match="mem_flags::mem_device is missing in between"):
        run(
            "device uint* y, device uint* z, device atomic_uint* flag",
            body,
            y=np.zeros(64, np.uint32),
            z=np.zeros(64, np.uint32),
            flag=np.zeros(1, np.uint32),
        )


def test_the_first_thread_hands_its_sum_to_the_last_threadgroup(run):
    """One thread releases before a barrier, and all acquire after it."""
    body = f"""
        threadgroup uint turn;
        if (t == 0) {{
          y[g] = g;
          {FENCE}
          turn = atomic_fetch_add_explicit(count, 1u, memory_order_relaxed);
        }}
        {THREADGROUP_BARRIER}
        if (turn + 1 < 4) return;
        {FENCE}
        z[t] = y[t % 4];"""
    arguments = {name: np.zeros(64, np.uint32) for name in "yz"}
    arguments["count"] = np.zeros(1, np.uint32)
    run("device uint* y, device uint* z, device atomic_uint* count", body, groups=4, **arguments)
    np.testing.assert_array_equal(arguments["z"], np.arange(64) % 4)
