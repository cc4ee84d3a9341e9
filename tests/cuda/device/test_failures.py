"""Errors of NVIDIA's driver, which its double returns on request."""

from __future__ import annotations

import secrets

import numpy as np
import pytest

from metalbench import _core

ADD = "kernel void add(device float* y, uint i [[thread_position_in_grid]]) { y[i] += 1; }"
ILLEGAL_ADDRESS, OUT_OF_MEMORY, INVALID_PTX, LAUNCH_FAILED = 700, 2, 218, 719


def text_of_its_own():
    """A number below a million, and a kernel that adds it, which no cache has."""
    number = secrets.randbelow(10**6)
    return number, ADD.replace("+= 1", f"+= {number}")


def dispatch_of(compiled, y, text=ADD):
    return _core.Dispatch(compiled(text), {"y": y}, threads_in_grid=len(y), threads=4)


@pytest.mark.parametrize("queries", [1, 50])
def test_the_host_waits_for_long_kernels(device, compiled, double, queries):
    y = np.zeros(4, np.float32)
    double.cuda_double_patience(queries)
    device.run([dispatch_of(compiled, y)])
    np.testing.assert_array_equal(y, [1] * 4)


def test_out_of_memory_is_reported(device, double):
    double.cuda_double_fail(b"cuMemAlloc_v2", 0, OUT_OF_MEMORY)
    with pytest.raises(
        _core.OutOfMemoryError, match="cannot allocate 64 bytes of the GPU's memory"
    ):
        device.allocate(64)
    assert device.lost == ""
    device.allocate(64)


def test_compile_errors_of_the_driver_are_passed_on(device, compiled, double):
    number, text = text_of_its_own()
    pipeline = compiled(text)
    double.cuda_double_fail(b"cuLinkAddData_v2", 0, INVALID_PTX)
    y = np.zeros(4, np.float32)
    dispatch = _core.Dispatch(pipeline, {"y": y}, threads_in_grid=4, threads=4)
    with pytest.raises(_core.CompileError, match=r"\[add\] NVIDIA.*\n?.*line 7: no such thing"):
        device.run([dispatch])
    device.run([dispatch])
    np.testing.assert_array_equal(y, [number] * 4)


def test_a_kernel_is_compiled_once_for_each_size_of_block(device, compiled, double):
    y = np.zeros(64, np.float32)
    number, text = text_of_its_own()
    pipeline = compiled(text)
    before = double.cuda_double_calls(b"cuLinkComplete")
    for threads in (16, 32, 16, 32):
        device.run([_core.Dispatch(pipeline, {"y": y}, threads_in_grid=64, threads=threads)])
    assert double.cuda_double_calls(b"cuLinkComplete") - before == 2
    again = compiled(text)
    device.run([_core.Dispatch(again, {"y": y}, threads_in_grid=64, threads=16)])
    assert double.cuda_double_calls(b"cuLinkComplete") - before == 2
    np.testing.assert_array_equal(y, [5 * number] * 64)


def test_a_window_reuses_events(device, compiled, double):
    dispatch = dispatch_of(compiled, np.zeros(64, np.float32))

    def calls_of(pairs):
        names = (b"cuEventCreate", b"cuEventDestroy_v2", b"cuEventRecord")
        before = [double.cuda_double_calls(name) for name in names]
        plan = {"warmup_ns": 0, "window_ns": 1e4, "max_pairs": pairs, "min_pairs": pairs}
        device.sample([dispatch], [dispatch], **plan)
        after = [double.cuda_double_calls(name) for name in names]
        return [now - then for now, then in zip(after, before, strict=True)]

    few, many = calls_of(8), calls_of(40)
    assert few[:2] == many[:2]  # the same events for all windows
    assert many[0] == many[1]  # and none left
    assert many[2] - few[2] >= 2 * 2 * 32  # while every window of the pairs is timed


def test_a_failed_event_is_created_by_the_next_window(device, compiled, double):
    y = np.zeros(4, np.float32)
    program = [dispatch_of(compiled, y)]
    double.cuda_double_fail(b"cuEventCreate", 1, OUT_OF_MEMORY)
    with pytest.raises(_core.OutOfMemoryError, match="cannot make an event"):
        device.run(program)
    device.run(program)
    np.testing.assert_array_equal(y, [1] * 4)


def test_sample_copies_memory_once_for_all_windows(device, compiled, double):
    dispatch = dispatch_of(compiled, np.zeros(64, np.float32))
    up, down = (
        double.cuda_double_calls(name)
        for name in (b"cuMemcpyHtoDAsync_v2", b"cuMemcpyDtoHAsync_v2")
    )
    options = {"warmup_ns": 0, "window_ns": 1e4, "max_pairs": 8, "min_pairs": 8}
    device.sample([dispatch], [dispatch], **options)
    assert double.cuda_double_calls(b"cuMemcpyHtoDAsync_v2") - up == 1
    assert double.cuda_double_calls(b"cuMemcpyDtoHAsync_v2") - down == 1


@pytest.mark.parametrize("name", [b"cuMemcpyHtoDAsync_v2", b"cuMemcpyDtoHAsync_v2"])
def test_a_failed_copy_is_repeated_by_the_next_run(device, compiled, double, name):
    pipeline = compiled(
        "kernel void both(device float* a, device float* b, uint i [[thread_position_in_grid]]) "
        "{ a[i] += 1; b[i] += 2; }"
    )
    a, b = np.zeros(4, np.float32), np.zeros(4, np.float32)
    dispatch = _core.Dispatch(pipeline, {"a": a, "b": b}, threads_in_grid=4, threads=4)
    double.cuda_double_fail(name, 1, 1)
    with pytest.raises(_core.Error, match="cannot copy"):
        device.run([dispatch])
    a[:], b[:] = 10, 20
    device.run([dispatch])
    np.testing.assert_array_equal(a, [11] * 4)
    np.testing.assert_array_equal(b, [22] * 4)


CALLS = [
    "cuCtxSetCurrent", "cuStreamSynchronize", "cuMemcpyHtoDAsync_v2", "cuStreamBeginCapture_v2",
    "cuLaunchKernel", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch",
    "cuEventCreate",
    "cuEventRecord", "cuEventElapsedTime", "cuMemcpyDtoHAsync_v2",
]  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_failed_call_is_reported_and_frees_its_memory(device, compiled, double, name):
    y = np.zeros(4, np.float32)
    pipeline = compiled(ADD)
    dispatch = _core.Dispatch(pipeline, {"y": y}, threads_in_grid=4, threads=4)
    device.run([dispatch])
    alive = double.cuda_double_alive()
    double.cuda_double_fail(name.encode(), 0, 1)
    with pytest.raises(_core.Error, match=r"cannot .*CUDA_ERROR_OF_THE_DOUBLE"):
        device.run([dispatch])
    assert device.lost == ""
    assert double.cuda_double_alive() == alive
    y[:] = 0
    device.run([dispatch])
    np.testing.assert_array_equal(y, [1] * 4)


@pytest.mark.parametrize(
    ("registers", "threads", "times"),
    [(132, 128, 2), (160, 128, 1), (134, 256, 2), (128, 256, 1), (40, 128, 1)],
)
def test_a_few_registers_less_make_room_for_one_more_block(
    device, compiled, double, monkeypatch, registers, threads, times
):
    monkeypatch.setenv("CUDA_DOUBLE_REGISTERS", str(registers))
    y = np.zeros(1024, np.float32)
    number, text = text_of_its_own()
    before = double.cuda_double_calls(b"cuLinkComplete")
    device.run([_core.Dispatch(compiled(text), {"y": y}, threads_in_grid=1024, threads=threads)])
    assert double.cuda_double_calls(b"cuLinkComplete") == before + times
    np.testing.assert_array_equal(y, [number] * 1024)
