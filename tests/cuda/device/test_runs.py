"""Results of kernels on the cuda device, and their transfers of memory."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

ADD_ONE = "kernel void k(device float* y, uint i [[thread_position_in_grid]]) { y[i] += 1; }"


def run(device, pipeline, arguments, threads_in_grid, threads, **options):
    dispatch = _core.Dispatch(
        pipeline, arguments, threads_in_grid=threads_in_grid, threads=threads, **options
    )
    return device.run([dispatch])


def test_a_kernel_reads_and_changes_an_array(device, compiled):
    y = np.arange(100, dtype=np.float32)
    time_ns = run(device, compiled(ADD_ONE), {"y": y}, 100, 32)
    np.testing.assert_array_equal(y, np.arange(100) + 1)
    assert time_ns > 0


def test_a_buffer_is_zero_until_it_is_written(device, compiled):
    y = device.allocate(400)
    run(device, compiled(ADD_ONE), {"y": y.slice(40, 360)}, 90, 32)
    np.testing.assert_array_equal(y.numpy("float32"), [0] * 10 + [1] * 90)


def test_writes_of_the_host_between_runs_are_visible(device, compiled):
    y = device.allocate(64)
    pipeline = compiled(ADD_ONE)
    run(device, pipeline, {"y": y}, 16, 16)
    y.numpy("float32")[:] += 10
    run(device, pipeline, {"y": y}, 16, 16)
    np.testing.assert_array_equal(y.numpy("float32"), [12] * 16)


def test_dispatches_run_in_order(device, compiled):
    y = np.ones(8, np.float32)
    double = compiled(
        "kernel void d(device float* y, uint i [[thread_position_in_grid]]) { y[i] *= 2; }"
    )
    launches = [
        _core.Dispatch(each, {"y": y}, threads_in_grid=8, threads=8)
        for each in (compiled(ADD_ONE), double, compiled(ADD_ONE))
    ]
    device.run(launches)
    np.testing.assert_array_equal(y, [5] * 8)


def test_parts_of_an_array_are_parts_of_one_memory(device, compiled):
    y = np.zeros(64, np.float32)
    pipeline = compiled(ADD_ONE)
    launches = [
        _core.Dispatch(pipeline, {"y": part}, threads_in_grid=len(part), threads=16)
        for part in (y, y[16:], y[:32], y)
    ]
    device.run(launches)
    np.testing.assert_array_equal(y, [3] * 16 + [4] * 16 + [3] * 32)


def test_an_array_longer_than_the_bound_one_is_refused(device, compiled):
    y = np.zeros(64, np.float32)
    pipeline = compiled(ADD_ONE)
    bound = _core.Dispatch(pipeline, {"y": y[:32]}, threads_in_grid=32, threads=16)
    with pytest.raises(_core.DispatchError, match=r"Device\.buffer"):
        _core.Dispatch(pipeline, {"y": y}, threads_in_grid=64, threads=16)
    device.run([bound])
    np.testing.assert_array_equal(y, [1] * 32 + [0] * 32)


@pytest.mark.parametrize(
    ("grid", "threads"),
    [
        ((7, 5, 3), (4, 2, 2)),
        ((33, 1, 1), (32, 1, 1)),
        ((1, 1, 70000), (1, 1, 128)),
        ((2, 70000, 1), (2, 1, 1)),
    ],
)
def test_threads_at_the_edges_of_a_grid_have_their_positions(device, compiled, grid, threads):
    pipeline = compiled(
        "kernel void k(device uint* y, uint3 i [[thread_position_in_grid]], "
        "uint3 n [[threads_per_grid]], uint3 g [[threadgroup_position_in_grid]], "
        "uint3 t [[thread_position_in_threadgroup]], "
        "uint3 size [[dispatch_threads_per_threadgroup]])"
        "{ y[(i.z * n.y + i.y) * n.x + i.x] += all(i == g * size + t) ? 1 : 100; }"
    )
    y = np.zeros(int(np.prod(grid)), np.uint32)
    run(device, pipeline, {"y": y}, grid, threads)
    assert set(y) == {1}


def test_an_empty_grid_runs_no_thread(device, compiled):
    y = np.zeros(4, np.float32)
    run(device, compiled(ADD_ONE), {"y": y}, 0, 4)
    np.testing.assert_array_equal(y, [0] * 4)


def test_constants_are_handed_over(device, compiled):
    pipeline = compiled(
        "struct S { float a; int b; };"
        "kernel void k(device float* y, constant float3& v, constant S& s, constant uint& n, "
        "uint i [[thread_position_in_grid]]) { if (i < n) y[i] = v.x + v.y + v.z + s.a + s.b; }"
    )
    y = np.zeros(8, np.float32)
    s = np.array([(0.5, 7)], dtype=[("a", np.float32), ("b", np.int32)])
    v = np.array([1, 2, 3, 0], np.float32)
    run(device, pipeline, {"y": y, "v": v, "s": s, "n": 6}, 8, 8)
    np.testing.assert_array_equal(y, [13.5] * 6 + [0] * 2)


def test_a_pointer_in_a_buffer_leads_to_device_memory(device, compiled):
    pipeline = compiled(
        "struct A { device float* p; };"
        "kernel void k(constant A& a, uint i [[thread_position_in_grid]]) { a.p[i] = i; }"
    )
    y = device.allocate(16)
    a = np.array([y.address], np.uint64)
    run(device, pipeline, {"a": a.view(np.uint8)}, 4, 4, resources=[y])
    np.testing.assert_array_equal(y.numpy("float32"), [0, 1, 2, 3])


def test_dynamic_threadgroup_memory_is_each_kernels_own(device, compiled):
    pipeline = compiled(
        "kernel void k(device float* y, threadgroup float* a, threadgroup float* b) "
        "{ a[0] = 1; a[3] = 2; b[0] = 4; b[3] = 8; y[0] = a[0] + a[3] + b[0] + b[3]; }"
    )
    y = np.zeros(1, np.float32)
    run(device, pipeline, {"y": y}, 1, 1, threadgroup_bytes={"a": 16, "b": 16})
    assert y[0] == 15


def test_reflection_agrees_with_other_devices(compiled):
    pipeline = compiled(
        "kernel void k(device float4* y, constant ushort& n, uint i [[thread_position_in_grid]])"
        "{ threadgroup float t[8]; t[i % 8] = n; threadgroup_barrier(mem_flags::mem_threadgroup);"
        "y[i] = t[7 - i % 8]; }"
    )
    assert pipeline.engine == "cuda"
    assert pipeline.threadgroup_bytes == 32
    assert [each.element_bytes for each in pipeline.arguments] == [16, 2]
    assert pipeline.max_threads == 1024


def test_a_sampling_leaves_the_results_of_its_last_pass(device, compiled):
    y = np.zeros(32, np.float32)
    dispatch = _core.Dispatch(compiled(ADD_ONE), {"y": y}, threads_in_grid=32, threads=32)
    options = {"warmup_ns": 0, "window_ns": 1e4, "max_pairs": 4, "min_pairs": 4}
    samples = device.sample([dispatch], [dispatch], **options)
    assert len(samples.candidate_ns) == 4
    assert (y == y[0]).all()
    assert y[0] >= 8 * samples.candidate_window


def test_a_long_window_is_several_graphs(device, compiled):
    y = np.zeros(4, np.float32)
    dispatch = _core.Dispatch(compiled(ADD_ONE), {"y": y}, threads_in_grid=4, threads=4)
    options = {"warmup_ns": 0, "candidate_window": 2500, "max_pairs": 1, "min_pairs": 1}
    device.sample([dispatch], **options)
    assert y[0] == 2500


def test_a_checked_build_is_refused(device):
    with pytest.raises(_core.Unsupported, match="checked builds run on the `cpu` device"):
        device.compile("kernel void k() {}", checked=True)


def test_the_device_has_its_properties(device):
    assert device.kind == "cuda"
    assert device.own_clock
    assert device.chip is None or device.chip in device.name.lower()  # the double has no model
    assert device.cores > 0
    assert device.lost == ""
    facts = device.capabilities
    assert facts["architecture"].startswith("sm_")
    assert facts["memory_bytes"] > 0
    assert device.state()["temperature_c"] > 0
