"""Grids, threadgroups and what a thread knows about its place in them."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

POSITIONS = """
kernel void positions(device uint* seen, device uint3* at, constant uint3& grid,
                      uint3 p [[thread_position_in_grid]], uint3 g [[threadgroup_position_in_grid]],
                      uint3 t [[thread_position_in_threadgroup]],
                      uint3 size [[threads_per_threadgroup]], uint index [[thread_index_in_threadgroup]]) {
  uint i = (p.z * grid.y + p.y) * grid.x + p.x;
  seen[i] += 1;
  at[i] = all(p == g * 0 + p) ? uint3(index, t.x + t.y, size.x) : uint3(0);
}
"""


@pytest.mark.parametrize(
    ("grid", "threads"),
    [
        ((1000, 1, 1), (256, 1, 1)),
        ((37, 11, 5), (8, 4, 2)),
        ((1, 1, 1), (1, 1, 1)),
        ((7, 130, 1), (32, 32, 1)),
    ],
)
def test_dispatch_threads_covers_the_grid_once_and_not_more(device, compile_kernel, grid, threads):
    pipeline = compile_kernel(POSITIONS)
    count = int(np.prod(grid))
    seen = np.zeros(count + 64, np.uint32)
    at = np.zeros((count, 4), np.uint32)
    arguments = {"seen": seen, "at": at, "grid": np.array([*grid, 0], np.uint32)}
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=grid, threads=threads)])
    assert (seen[:count] == 1).all()
    assert (seen[count:] == 0).all()
    # Groups at the edge are not full, and say so.
    x, y, z = (np.arange(n) for n in grid)
    width = np.minimum(threads[0], grid[0] - x // threads[0] * threads[0])
    height = np.minimum(threads[1], grid[1] - y // threads[1] * threads[1])
    expected = (
        x % threads[0]
        + width * (y % threads[1])[:, None]
        + (width * height[:, None]) * (z % threads[2])[:, None, None]
    )
    np.testing.assert_array_equal(at[:, 0].reshape(grid[::-1]), expected)
    np.testing.assert_array_equal(at[:, 2].reshape(grid[::-1])[0, 0], width)


def test_dispatch_threadgroups_runs_every_thread_of_every_group(device, compile_kernel):
    pipeline = compile_kernel(
        """
        kernel void count(device atomic_uint* total, uint3 groups [[threadgroups_per_grid]]) {
          atomic_fetch_add_explicit(total, groups.x, memory_order_relaxed);
        }
        """
    )
    total = np.zeros(1, np.uint32)
    device.run([_core.Dispatch(pipeline, {"total": total}, threadgroups=(5, 3), threads=(10, 2))])
    assert total[0] == 5 * 3 * 20 * 5


def test_an_empty_grid_is_fine(device, compile_kernel):
    pipeline = compile_kernel("kernel void f(device float* x) { x[0] = 1; }")
    x = np.zeros(4, np.float32)
    device.run([_core.Dispatch(pipeline, {"x": x}, threads_in_grid=0, threads=32)])
    assert x[0] == 0


def test_dispatches_run_in_order(device, compile_kernel):
    append = compile_kernel(
        "kernel void append(device uint* x, constant uint& digit, uint i [[thread_position_in_grid]]) "
        "{ x[i] = x[i] * 10 + digit; }"
    )
    x = np.zeros(5000, np.uint32)
    device.run(
        [
            _core.Dispatch(append, {"x": x, "digit": digit}, threads_in_grid=5000, threads=64)
            for digit in (1, 2, 3)
        ]
    )
    assert (x == 123).all()


LIMITS = "kernel void f(device float* x, threadgroup float* scratch) { scratch[0] = 1; x[0] = scratch[0]; }"


def dispatch(pipeline, **changes):
    settings = {"threads_in_grid": 32, "threads": 32, "threadgroup_bytes": {"scratch": 64}}
    arguments = changes.pop("arguments", {"x": np.zeros(4, np.float32)})
    return _core.Dispatch(pipeline, arguments, **{**settings, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"threads": (33, 32)}, "1 to 1024 threads a threadgroup, got 1056"),
        ({"threads": 0}, "1 to 1024 threads"),
        (
            {"threadgroup_bytes": {"scratch": 32769}},
            "scratch: expected at most 32768 bytes of threadgroup memory, got 32769",
        ),
        (
            {"threadgroup_bytes": {"other": 16}},
            "other: the kernel has no such threadgroup argument; it has `scratch`",
        ),
        ({"arguments": {}}, "x: missing argument; expected device float at buffer 0"),
        (
            {"arguments": {"x": np.zeros(4, np.float32), "z": 1}},
            "z: the kernel has no such argument; it has `x`",
        ),
        ({"arguments": {"x": 1.0}}, "x: the kernel writes to it"),
        ({"threads_in_grid": (1, 2, 3, 4)}, "one to three sizes"),
        ({"threads_in_grid": -1}, "one to three sizes"),
        ({"threadgroups": 1}, "exactly one of threadgroups and threads_in_grid"),
    ],
)
def test_limits_and_bindings_are_checked(compile_kernel, changes, message):
    pipeline = compile_kernel(LIMITS)
    dispatch(pipeline)  # is fine as it stands
    with pytest.raises(_core.DispatchError, match=message) as error:
        dispatch(pipeline, **changes)
    assert str(error.value).startswith("[f] ")


def test_reflection(device, compile_kernel):
    pipeline = compile_kernel(
        """
        [[kernel, max_total_threads_per_threadgroup(128)]]
        void f(device const float4* x [[buffer(3)]], device half* y, constant uint& n,
               threadgroup float* s [[threadgroup(1)]], uint i [[thread_position_in_grid]]) {
          threadgroup float tile[8][4];
          tile[i][0] = x[i].x; s[i] = n; threadgroup_barrier(mem_flags::mem_threadgroup);
          y[i] = half(tile[i][0] + s[i]);
        }
        """
    )
    found = {
        a.name: (a.kind, a.index, a.type, a.address_space, a.access, a.element_bytes)
        for a in pipeline.arguments
    }
    assert found["x"] == ("buffer", 3, "float4", "device", "read", 16)
    assert found["y"] == ("buffer", 0, "half", "device", "read_write", 2)
    assert found["n"] == ("buffer", 1, "uint", "constant", "read", 4)
    assert found["s"] == ("threadgroup", 1, "float", "threadgroup", "read_write", 4)
    assert [(a.name, a.type) for a in pipeline.attributes] == [("thread_position_in_grid", "uint")]
    assert pipeline.threadgroup_bytes == 128
    assert pipeline.max_threads == 128
    assert pipeline.needs_fibers == (device.kind == "cpu")


@pytest.mark.parametrize("checked", [False, True])
def test_a_pipeline_has_its_execution_mode(device, compile_kernel, checked):
    plain = "kernel void f(device int* x, uint i [[thread_position_in_grid]]) { x[i] = 1; }"
    pipeline = compile_kernel(plain, checked=checked)
    loops = "fibers" if checked else "loops"
    assert pipeline.engine == (loops if device.kind == "cpu" else device.kind)
    assert bool(pipeline.engine_reason) == (device.kind == "cpu")
    assert pipeline.engine_widths == []


@pytest.mark.parametrize(
    ("statement", "widths"),
    [("threadgroup_barrier(mem_flags::mem_none);", [32, 16, 8]), ("x[i] = simd_sum(1);", [32])],
)
def test_a_pipeline_says_how_wide_its_vectors_are(
    device, compile_kernel, monkeypatch, statement, widths
):
    monkeypatch.setenv("METALBENCH_ENGINE", "vectors")
    source = f"kernel void f(device int* x, uint i [[thread_position_in_grid]]) {{ {statement} }}"
    pipeline = compile_kernel(source)
    if device.kind != "cpu":
        assert (pipeline.engine, pipeline.engine_widths) == (device.kind, [])
        return
    assert (pipeline.engine, pipeline.engine_widths) == ("vectors", widths)
    assert pipeline.engine_reason == ""
    monkeypatch.setenv("METALBENCH_ENGINE", "fibers")
    pipeline = compile_kernel(source)
    assert (pipeline.engine, pipeline.engine_widths) == ("fibers", [])
    assert "METALBENCH_ENGINE is fibers" in pipeline.engine_reason


STARTS = """
kernel void f(device const TYPE* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = float(x[i] VALUE);
}
"""


def start_at(device, compile_kernel, offset, type_, value):
    source = STARTS.replace("TYPE", type_).replace("VALUE", value)
    memory = device.allocate(256)
    memory.numpy("uint8")[:] = 1
    y = device.allocate(16)
    arguments = {"x": memory.slice(offset, 128), "y": y}
    device.run([_core.Dispatch(compile_kernel(source), arguments, threads_in_grid=4, threads=4)])
    return y.numpy("float32")


@pytest.mark.parametrize(
    ("offset", "type_", "value"), [(48, "float4", ".x"), (20, "float", ""), (3, "uchar", "")]
)
def test_a_buffer_starts_at_any_multiple_of_its_alignment(
    device, compile_kernel, offset, type_, value
):
    assert (start_at(device, compile_kernel, offset, type_, value) > 0).all()


@pytest.mark.parametrize(
    ("offset", "type_", "value", "message"),
    [
        (
            20,
            "float4",
            ".x",
            r"\[f\] x: .*multiple of 16 bytes, .* device float4, got offset 20, 4 ",
        ),
        (22, "float", "", r"\[f\] x: .*multiple of 4 bytes, .* device float, got offset 22, 2 "),
        (33, "half2", ".y", r"\[f\] x: .*multiple of 4 bytes, .* device half2, got offset 33, 1 "),
    ],
)
def test_an_offset_between_elements_is_refused_where_it_matters(
    device, compile_kernel, offset, type_, value, message
):
    if device.kind == "cpu":  # whose plain builds load from anywhere; checked ones tell
        assert (start_at(device, compile_kernel, offset, type_, value) > 0).all()
        return
    with pytest.raises(_core.DispatchError, match=message):
        start_at(device, compile_kernel, offset, type_, value)


def test_a_loaded_pipeline_has_not_run(device, compile_kernel):
    pipeline = compile_kernel("kernel void one(device uint* y) { *y = 1; }")
    y = np.zeros(1, np.uint32)
    dispatch = _core.Dispatch(pipeline, {"y": y}, threadgroups=1, threads=1)
    device.load([dispatch])
    assert y[0] == 0
    device.run([dispatch])
    assert y[0] == 1
