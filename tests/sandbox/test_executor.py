"""Kernels that run in another process than what judges them."""

from __future__ import annotations

import subprocess
import sys
from operator import attrgetter

import numpy as np
import pytest
from scripted_executor import COUNT, SOURCE, Twice

from metalbench import _core
from metalbench.errors import (
    CompileError,
    DispatchError,
    KernelFault,
    TimeLimitExceeded,
    Unsupported,
)


def test_a_kernel_runs_and_is_timed(device: _core.Device) -> None:
    twice = Twice(device)
    assert twice.run() > 0
    assert twice.is_right
    samples = twice.sample(long_windows=4)
    assert (samples.candidate_ns > 0).all()
    assert (samples.floor_ns > 0).all()
    assert len(samples.candidate_ns) == 12
    assert len(samples.long_ns) == 4


def test_a_pipeline_in_an_executor_has_the_same_facts(
    here: _core.Device, device: _core.Device
) -> None:
    mine, theirs = (each.compile(SOURCE).pipeline("summed") for each in (here, device))
    names = ("name", "max_threads", "threadgroup_bytes", "needs_fibers", "engine", "engine_widths")
    assert attrgetter(*names)(mine) == attrgetter(*names)(theirs)
    facts = ("name", "kind", "index", "type", "address_space", "access", "element", "element_bytes")
    assert list(map(attrgetter(*facts), mine.arguments)) == list(
        map(attrgetter(*facts), theirs.arguments)
    )
    assert list(map(repr, mine.attributes)) == list(map(repr, theirs.attributes))


def test_groups_of_other_shapes_are_compiled_on_demand(device: _core.Device) -> None:
    """An executor loads a kernel if it has not loaded it before its first kernel."""
    summed = Twice(device, "summed")
    summed.run()
    expected = np.arange(COUNT, dtype=np.float32).reshape(-1, 64).sum(axis=1)
    assert (summed.y.numpy("float32").reshape(-1, 64) == expected[:, None]).all()
    for threads in (32, 24):
        values = {"x": summed.x, "y": summed.y}
        dispatch = _core.Dispatch(
            summed.pipeline, values, threads_in_grid=COUNT - 8, threads=threads
        )
        device.run([dispatch])
    for again in (summed, Twice(device, "summed")):
        again.run()
        assert (again.y.numpy("float32").reshape(-1, 64) == expected[:, None]).all()


def test_a_kernel_compiled_again_is_loaded_once(device: _core.Device) -> None:
    """Each of its pipelines may be the first to need a shape."""
    for threads in (64, 32, 24):
        again = Twice(device, "summed")
        values = {"x": again.x, "y": again.y}
        dispatch = _core.Dispatch(
            again.pipeline, values, threads_in_grid=COUNT - 8, threads=threads
        )
        device.run([dispatch])
        assert again.y.numpy("float32")[: COUNT - 64].all()


def test_faults_have_their_line(device: _core.Device) -> None:
    with pytest.raises(KernelFault, match=r"\[astray\] .*:11: access to (an )?invalid address"):
        Twice(device, "astray").run()
    twice = Twice(device)
    twice.run()
    assert twice.is_right


def test_checked_runs_in_an_executor_have_the_same_findings(device: _core.Device) -> None:
    with pytest.raises(KernelFault, match=r":11: .*outside of every buffer"):
        Twice(device, "astray", checked=True).run()
    unwritten = Twice(device, checked=True)
    unwritten.run()
    unwritten.x.mark_unwritten()
    with pytest.raises(KernelFault, match=r":5: .*that nothing has written"):
        unwritten.run()
    unwritten.x.mark_written()
    unwritten.run()
    assert unwritten.is_right


def test_a_kernel_that_does_not_end_is_stopped(device: _core.Device) -> None:
    with pytest.raises(TimeLimitExceeded, match=r"time limit of 0.2 s reached: .*still running"):
        Twice(device, "endless").run(time_limit=0.2)


def test_textures_and_samplers_are_handed_over(device: _core.Device) -> None:
    source = """#include <metal_stdlib>
    kernel void k(metal::texture2d<float> t, metal::texture2d<float, metal::access::write> u,
                  metal::sampler s, device float* y, uint i [[thread_position_in_grid]]) {
      y[i] = t.sample(s, metal::float2(i + 1, 0.5f)).x;
      u.write(metal::float4(y[i]), metal::uint2(i, 1));
    }"""
    pipeline = device.compile(source).pipeline()
    ramp = np.tile(np.arange(4, dtype=np.float32), (4, 1))
    texture, drawn = device.texture(ramp), device.texture(np.zeros((4, 4), np.uint8))
    y = device.allocate(8)
    sampler = _core.Sampler("linear", normalized=False)
    values = {"t": texture, "u": drawn, "s": sampler, "y": y}
    device.run([_core.Dispatch(pipeline, values, threads_in_grid=2, threads=2)])
    assert y.numpy("float32").tolist() == [0.5, 1.5]
    assert drawn.numpy()[1].tolist() == [128, 255, 0, 0]


def test_the_executor_refuses_objects_that_cannot_be_sent(
    here: _core.Device, device: _core.Device
) -> None:
    source = """#include <metal_stdlib>
    kernel void k(metal::texture2d<float> t, device float* y, uint i [[thread_position_in_grid]]) {
      y[i] = t.read(metal::uint2(0, 0)).x;
    }"""
    pipeline = device.compile(source).pipeline()
    texture = device.texture(np.full((4, 4), 7, np.float32))
    y = device.allocate(4)
    dispatch = _core.Dispatch(
        pipeline, {"t": texture, "y": y}, threads_in_grid=1, threads=1, resources=[y]
    )
    with pytest.raises(Unsupported, match="not valid in another process"):
        device.run([dispatch])
    with pytest.raises(CompileError):
        device.compile("kernel void f() { nonsense }").pipeline()
    with pytest.raises(DispatchError, match="another device"):
        device.run(Twice(here).dispatches)


def test_new_memory_is_zero(device: _core.Device) -> None:
    for size in (1, 100, 3 << 20, 5 << 20):
        first = device.allocate(size)
        first.numpy()[:] = 255
        del first
        assert not device.allocate(size).numpy().any()


def test_an_executor_imports_few_modules() -> None:
    program = "import metalbench.sandbox.executor_main, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    known = done.stdout.decode().split()
    packages = {name.split(".")[1] for name in known if name.startswith("metalbench.")}
    assert packages == {"_core", "errors", "sandbox"}
    assert not {"mlx", "scipy", "numpy", "subprocess"} & set(known)
    # It starts for every kernel, and these take longer than all that it needs.
    assert not {"dataclasses", "inspect", "platform", "tempfile", "difflib"} & set(known)


def test_a_pointer_into_memory_of_the_judge_is_invalid(
    here: _core.Device, device: _core.Device
) -> None:
    source = """#include <metal_stdlib>
    kernel void k(constant ulong& where, device float* y, uint i [[thread_position_in_grid]]) {
      device float* there = (device float*)where;
      there[i] = 1;
      y[i] = 1;
    }"""
    secret = np.zeros(1024, np.float32)
    where = secret.ctypes.data
    for there, reached in ((here, True), (device, False)):
        secret[:] = 0
        values = {"where": where, "y": there.allocate(4)}
        pipeline = there.compile(source).pipeline()
        dispatch = _core.Dispatch(pipeline, values, threads_in_grid=1, threads=1)
        try:
            there.run([dispatch])
        except KernelFault:
            assert not reached
        assert secret.any() == reached
