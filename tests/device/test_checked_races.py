"""Races that checked builds find, in threadgroup and in device memory, and what is none."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

DEVICE_BARRIER = "threadgroup_barrier(mem_flags::mem_device);"
THREADGROUP_BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
FENCE = "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);"


@pytest.fixture
def run(device, compile_kernel):
    if not device.checked_builds:
        pytest.skip("no checked builds on this device")

    def run(parameters, body, *, threads=64, groups=4, passes=1, **arguments):
        """Run a kernel of `parameters`, position `i`, thread `t` and group `g` in a checked build."""
        source = f"""kernel void f({parameters}, uint i [[thread_position_in_grid]],
                uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {{
            {body}
        }}"""
        # Fences are of metal3.2.
        pipeline = compile_kernel(source, checked=True, macros={"__METAL_VERSION__": "320"})
        dispatch = _core.Dispatch(pipeline, arguments, threadgroups=groups, threads=threads)
        device.run([dispatch] * passes)

    return run


def floats(count):
    return np.zeros(count, np.float32)


def test_two_threadgroups_write_the_same_element(run):
    with pytest.raises(_core.KernelFault) as error:
        run("device float* y", "y[i % 64] = i;", y=floats(64))
    message = str(error.value)
    assert "test.metal:5: race in device memory: write of 4 bytes of `y` at byte" in message
    assert message.count("of threadgroup (") == 2
    assert "after a write by thread" in message
    assert "only atomics with fences order threadgroups" in message


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("place", ["y[i]", "tile[t]"])
def test_overlapping_tiles_may_write_the_same_value(run, groups, place):
    body = """
        threadgroup float tile[66];
        for (uint k = 0; k < 2; ++k) { PLACE = 3; PLACE = 3; }
    """
    if place == "y[i]":
        body = body.replace("PLACE", "y[min(i + k, 63u)]")
    else:
        body = body.replace("PLACE", "tile[min(t + k, 63u)]") + "y[i] = t;"
    run("device float* y", body, groups=groups, y=floats(64 * groups))


@pytest.mark.parametrize("last", [3, 4])
def test_equal_writes_of_two_threads_do_not_race(run, last):
    """Each copies four elements at once; they overlap by some."""
    body = "((device packed_float4*)(y + min(4 * i, LAST * 1u)))[0] = *(device packed_float4*)x;"
    x = np.array([1, 1, 1, 1], np.float32)
    run(
        "device float* x, device float* y",
        body.replace("LAST", str(last)),
        groups=1,
        threads=2,
        x=x,
        y=floats(8),
    )


@pytest.mark.parametrize("place", ["y[0]", "tile[0]"])
def test_the_last_write_is_checked(run, place):
    body = "threadgroup float tile[1]; y[1] = 0; if (t >= 62) PLACE = t;".replace("PLACE", place)
    with pytest.raises(_core.KernelFault, match=r"race in (device|threadgroup) memory: write .*"):
        run("device float* y", body, groups=1, y=floats(64))


def test_a_read_after_equal_writes_needs_a_barrier(run):
    body = "y[g] = 1; BARRIER z[i] = y[g];"
    arguments = {"y": floats(4), "z": floats(256)}
    parameters = "device volatile float* y, device float* z"
    run(parameters, body.replace("BARRIER", DEVICE_BARRIER), **arguments)
    with pytest.raises(_core.KernelFault, match="race in device memory"):
        run(parameters, body.replace("BARRIER", ""), **arguments)


def test_a_read_of_another_threadgroups_write_races(run):
    with pytest.raises(_core.KernelFault, match=r"race in device memory: (read|write)"):
        run("device float* y", "y[i] = y[(i + 64) % 256];", y=floats(256))


def test_memory_bound_twice_is_one_memory(run):
    y = floats(256)
    with pytest.raises(
        _core.KernelFault,
        match="race in device memory: (write of 4 bytes of `y`|read of 4 bytes of `x`)",
    ):
        run("device const float* x, device float* y", "y[i] = x[(i + 64) % 256];", x=y, y=y)
    run("device const float* x, device float* y", "y[i] = x[i] + 1;", x=y, y=y)


@pytest.mark.parametrize("type_", ["uchar", "half", "float", "float4"])
def test_accesses_to_adjacent_elements_do_not_race(run, type_):
    size = {"uchar": 1, "half": 2, "float": 4, "float4": 16}[type_]
    body = "y[i] = 1; y[i] = y[i] + 1;"
    run(f"device {type_}* y", body, threads=50, y=np.zeros(200 * size, np.uint8))


@pytest.mark.parametrize("type_", ["uchar", "half"])
def test_a_partial_word_conflicts_with_the_word(run, type_):
    parameters = f"device {type_}* x, device uint* y"
    body = "if (g == 0) y[t] = 1; else x[64 + t] = 1;"
    memory = np.zeros(64, np.uint32)
    with pytest.raises(_core.KernelFault, match="race in device memory"):
        run(parameters, body, groups=2, x=memory.view(np.uint8), y=memory)


BETWEEN_THREADS = "y[i] = i; BARRIER z[i] = y[i ^ FLIP];"


@pytest.mark.parametrize(
    ("barrier", "flip"),
    [
        (DEVICE_BARRIER, 63),
        ("threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);", 63),
        ("simdgroup_barrier(mem_flags::mem_device);", 31),
        ("", 0),
    ],
)
def test_barriers_order_threads(run, barrier, flip):
    body = BETWEEN_THREADS.replace("BARRIER", barrier).replace("FLIP", str(flip))
    run("device float* y, device float* z", body, y=floats(256), z=floats(256))


@pytest.mark.parametrize(
    ("barrier", "flip"),
    [
        ("", 63),
        ("", 1),
        (THREADGROUP_BARRIER, 63),
        ("threadgroup_barrier(mem_flags::mem_none);", 63),
        ("simdgroup_barrier(mem_flags::mem_device);", 63),
        ("simdgroup_barrier(mem_flags::mem_threadgroup);", 31),
    ],
)
def test_threads_without_the_right_barrier_race(run, barrier, flip):
    body = BETWEEN_THREADS.replace("BARRIER", barrier).replace("FLIP", str(flip))
    with pytest.raises(
        _core.KernelFault, match=r"a barrier with mem_flags::mem_device is missing in between"
    ):
        run("device float* y, device float* z", body, y=floats(256), z=floats(256))


def test_a_write_after_many_reads_needs_a_barrier(run):
    parameters = "device float* y, device float* z"
    body = "z[i] = y[g * 64]; BARRIER if (t == 60) y[g * 64] = 1;"
    run(parameters, body.replace("BARRIER", DEVICE_BARRIER), y=floats(256), z=floats(256))
    with pytest.raises(_core.KernelFault, match="write .* after a read by thread"):
        run(parameters, body.replace("BARRIER", ""), y=floats(256), z=floats(256))


def test_atomics_do_not_race_with_atomics(run):
    body = """atomic_fetch_add_explicit(x, 1u, memory_order_relaxed);
    if (atomic_load_explicit(x, memory_order_relaxed) > 1000u)
      atomic_store_explicit(x, 0u, memory_order_relaxed);"""
    run("device atomic_uint* x", body, x=np.zeros(1, np.uint32))


@pytest.mark.parametrize(
    "body",
    [
        "if (g == 0) atomic_store_explicit(x, 1u, memory_order_relaxed); else *(device uint*)x = 1;",
        "if (g == 0) atomic_store_explicit(x, 1u, memory_order_relaxed); else y[i] = *(device uint*)x;",
        "if (g == 0) y[i] = atomic_load_explicit(x, memory_order_relaxed); else *(device uint*)x = 1;",
        "if (g == 0) atomic_fetch_add_explicit(x, 1u, memory_order_relaxed); else y[i] = *(device uint*)x;",
    ],
)
def test_atomics_race_with_plain_accesses(run, body):
    with pytest.raises(_core.KernelFault, match="race in device memory"):
        run(
            "device atomic_uint* x, device uint* y",
            body,
            x=np.zeros(1, np.uint32),
            y=np.zeros(256, np.uint32),
        )


def test_plain_and_atomic_reads_do_not_race(run):
    body = "y[i] = *(device uint*)x + atomic_load_explicit(x, memory_order_relaxed);"
    run(
        "device atomic_uint* x, device uint* y",
        body,
        x=np.zeros(1, np.uint32),
        y=np.zeros(256, np.uint32),
    )


LAST_ONE_SUMS = """
    threadgroup uint turn;
    parts[i] = i;
    RELEASE
    if (t == 0) turn = atomic_fetch_add_explicit(count, 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (turn + 1 < 4) return;
    ACQUIRE
    total[t] = parts[t] + parts[t + 64] + parts[t + 128] + parts[t + 192];
"""


@pytest.mark.parametrize(
    ("release", "acquire"),
    [(FENCE + THREADGROUP_BARRIER, FENCE), (DEVICE_BARRIER, DEVICE_BARRIER)],
)
def test_threadgroups_may_hand_over_by_an_atomic_between_fences(run, release, acquire):
    body = LAST_ONE_SUMS.replace("RELEASE", release).replace("ACQUIRE", acquire)
    arguments = {"parts": floats(256), "total": floats(64), "count": np.zeros(1, np.uint32)}
    run("device float* parts, device float* total, device atomic_uint* count", body, **arguments)
    np.testing.assert_array_equal(arguments["total"], np.arange(64) * 4 + 384)


@pytest.mark.parametrize(
    ("release", "acquire"),
    [("", ""), ("", FENCE), (FENCE + THREADGROUP_BARRIER, ""), (THREADGROUP_BARRIER,) * 2],
)
def test_an_atomic_without_fences_does_not_order_memory(run, release, acquire):
    body = LAST_ONE_SUMS.replace("RELEASE", release).replace("ACQUIRE", acquire)
    arguments = {"parts": floats(256), "total": floats(64), "count": np.zeros(1, np.uint32)}
    parameters = "device float* parts, device float* total, device atomic_uint* count"
    with pytest.raises(
        _core.KernelFault, match="race in device memory: read of 4 bytes of `parts`"
    ):
        run(parameters, body, **arguments)


def test_fences_without_an_atomic_do_not_order_memory(run):
    with pytest.raises(_core.KernelFault, match="race in device memory"):
        run("device float* y", f"y[i % 64] = 1; {FENCE} y[(i + 1) % 64] = 2;", y=floats(64))


def test_dispatches_are_ordered(run):
    body = "y[63 - i] = y[63 - i] + y[64 + i];"
    y = floats(128)
    run("device float* y", body, groups=2, threads=32, passes=3, y=y)


def test_matrices_race_like_all_memory(run):
    body = "simdgroup_float8x8 m(i); simdgroup_store(m, y + PLACE * 64, 8);"
    y = floats(256)
    run("device float* y", body.replace("PLACE", "g"), threads=32, y=y)
    with pytest.raises(_core.KernelFault, match="race in device memory: write of 32 bytes"):
        run("device float* y", body.replace("PLACE", "g / 2"), threads=32, y=y)


def test_threads_that_write_the_same_threadgroup_memory_race(run):
    body = "threadgroup float a[64]; a[t / 2] = t; threadgroup_barrier(mem_flags::mem_threadgroup); y[i] = a[t / 2];"
    with pytest.raises(
        _core.KernelFault, match=r"race in threadgroup memory: write of 4 bytes .* after a write by"
    ):
        run("device float* y", body, y=floats(256))


@pytest.mark.parametrize("barrier", ["", DEVICE_BARRIER])
def test_threadgroup_memory_needs_a_barrier_of_its_own(run, barrier):
    body = f"threadgroup float a[64]; a[t] = t; {THREADGROUP_BARRIER} y[i] = a[t ^ 63]; BARRIER a[t] = 0;"
    run("device float* y", body.replace("BARRIER", THREADGROUP_BARRIER), y=floats(256))
    with pytest.raises(_core.KernelFault, match="race in threadgroup memory: "):
        run("device float* y", body.replace("BARRIER", barrier), y=floats(256))


def test_a_simdgroup_takes_turns_with_its_own_threadgroup_memory(run):
    body = """
        threadgroup float a[2];
        for (uint k = 0; k < 3; ++k) {
          if (t % 32 == k) a[t / 32] = i;
          simdgroup_barrier(mem_flags::mem_threadgroup);
          y[i] += a[t / 32];
          simdgroup_barrier(mem_flags::mem_threadgroup);
        }"""
    run("device float* y", body, y=floats(256))
