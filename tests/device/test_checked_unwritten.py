"""Unwritten memory: checked builds report its readers, and it never holds old zeros."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core


@pytest.fixture
def run(device, compile_kernel):
    if not device.checked_builds:
        pytest.skip("no checked builds on this device")

    def run(*bodies, checked=True, threads=64, groups=4, **arguments):
        """Run one kernel after the other, with the buffers `x` and `y` of float."""
        dispatches = []
        for body in bodies:
            source = f"""kernel void f(device float* x, device float* y,
                    uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {{
                {body}
            }}"""
            pipeline = compile_kernel(source, checked=checked)
            dispatches.append(
                _core.Dispatch(pipeline, arguments, threadgroups=groups, threads=threads)
            )
        device.run(dispatches)

    return run


@pytest.fixture
def buffers(device):
    """`x` filled by the host, `y` of the same size unwritten."""
    x, y = device.allocate(1024), device.allocate(1024)
    y.mark_unwritten()
    return {"x": x, "y": y}


def test_a_read_of_unwritten_memory_is_reported(run, buffers):
    with pytest.raises(_core.KernelFault) as error:
        run("y[i] += x[i];", **buffers)
    message = str(error.value)
    assert "test.metal:5: read of 4 bytes of `y` that nothing has written: byte" in message
    assert "by thread (" in message


def test_memory_that_the_host_filled_may_be_read(run, device, buffers):
    run("y[i] = x[i]; y[i] += 1;", **buffers)
    run("y[i] += 1;", x=buffers["x"], y=np.zeros(256, np.float32))
    buffers["y"].mark_unwritten()
    buffers["y"].mark_written()
    run("y[i] += 1;", **buffers)


def test_a_later_dispatch_may_read_writes_of_an_earlier_one(run, buffers):
    run("y[i] = x[i];", "x[i] = y[255 - i];", **buffers)
    buffers["y"].mark_unwritten()
    with pytest.raises(_core.KernelFault, match="`y` that nothing has written: byte 400"):
        run("if (i != 100) y[i] = x[i];", "x[i] = y[i];", groups=1, threads=256, **buffers)


def test_the_marks_outlast_a_run(run, buffers):
    run("if (i < 128) y[i] = 1;", **buffers)
    run("if (i < 128) y[i] += 1;", **buffers)
    with pytest.raises(_core.KernelFault, match="nothing has written"):
        run("y[i] += 1;", **buffers)


def test_slices_share_the_marks_of_their_memory(run, device):
    whole = device.allocate(4096)
    whole.slice(1024, 512).mark_unwritten()
    x = device.allocate(1024)
    run("y[i] = x[i];", x=whole.slice(0, 1024), y=x)
    with pytest.raises(_core.KernelFault, match="`x` that nothing has written: byte 0"):
        run("y[i] = x[i];", threads=1, groups=1, x=whole.slice(1024, 1024), y=x)
    run("y[i] = x[128 + i];", groups=2, x=whole.slice(1024, 1024), y=x)


def test_atomic_stores_write_and_atomic_updates_read(run, buffers):
    store = "atomic_store_explicit((device atomic_uint*)y + i, 1u, memory_order_relaxed);"
    update = "atomic_fetch_add_explicit((device atomic_uint*)y + i, 1u, memory_order_relaxed);"
    with pytest.raises(_core.KernelFault, match="nothing has written"):
        run(update, **buffers)
    run(store + update, **buffers)


def test_other_builds_write_unseen(run, buffers):
    run("y[i] = x[i];", checked=False, **buffers)
    run("y[i] += 1;", **buffers)


@pytest.mark.parametrize("memory", ["device", "threadgroup"])
def test_padding_of_a_struct_may_stay_unwritten(device, compile_kernel, memory):
    if not device.checked_builds:
        pytest.skip("no checked builds on this device")
    place = "x[i]" if memory == "device" else "tile[i]"
    pipeline = compile_kernel(
        f"""
        struct Pair {{ uchar a; float b; float3 c; }};
        kernel void f(device Pair* x, device Pair* y, uint i [[thread_position_in_grid]]) {{
          threadgroup Pair tile[64];
          {place}.a = i; {place}.b = i;
          {place}.c.x = 1; {place}.c.y = 2; {place}.c.z = 3;
          y[i] = {place};
          float3 c = {place}.c;
          y[i].c = c * 2;
        }}
        """,
        checked=True,
    )
    x, y = device.allocate(64 * 32), device.allocate(64 * 32)
    x.mark_unwritten()
    dispatch = _core.Dispatch(pipeline, {"x": x, "y": y}, threadgroups=1, threads=64)
    device.run([dispatch])
    assert (y.numpy("float32").reshape(64, 8)[:, 4:7] == [2, 4, 6]).all()


LEAVE = """
threadgroup float tile[1024];
for (uint k = t; k < 1024; k += 64) tile[k] = 0;
threadgroup_barrier(mem_flags::mem_threadgroup);
y[i] = tile[t];
"""
FIND = """
threadgroup float tile[1024];
float sum = 0;
for (uint k = t; k < 1024; k += 64) sum += abs(tile[k]);
x[i] = sum;
tile[t] = 0;
"""


def test_threadgroup_memory_does_not_last_from_launch_to_launch(run, device):
    x, y = np.zeros(64, np.float32), np.zeros(64, np.float32)
    for _ in range(3):
        run(LEAVE, FIND, groups=1, checked=False, x=x, y=y)
        assert not (np.abs(x) < 1000).any()
    run(*[FIND] * 3, groups=1, checked=False, x=x, y=y)
    assert not (np.abs(x) < 1000).any()


def test_a_checked_build_reports_reads_of_an_earlier_threadgroups_memory(run):
    x, y = np.zeros(256, np.float32), np.zeros(256, np.float32)
    with pytest.raises(_core.KernelFault, match="that no thread of the group has written"):
        run(LEAVE, FIND, x=x, y=y)
