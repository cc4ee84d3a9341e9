"""A Metal device that cannot be opened, or has less than others."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from metalbench import _core

SOURCE = "kernel void fill(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 7; }"
PAGE_FAULT = 3

# Only the double can fail; a device that is open already would be shared.
pytestmark = [pytest.mark.metal, pytest.mark.usefixtures("metal_double", "nothing_is_open")]


@pytest.fixture
def nothing_is_open():
    gc.collect()


def works(metal):
    x = np.zeros(32, np.float32)
    pipeline = metal.compile(SOURCE).pipeline()
    metal.run([_core.Dispatch(pipeline, {"x": x}, threads_in_grid=32, threads=32)])
    return (x == 7).all()


@pytest.mark.parametrize(
    ("what", "value", "error", "words"),
    [
        ("fail_compile", 1, _core.CompileError, "empty kernel does not compile.*error: "),
        ("fail_pipeline", 1, _core.CompileError, "empty kernel does not compile.*internal error"),
        ("fail_command_buffer", PAGE_FAULT, _core.KernelFault, r"^\[an empty kernel\] Caused GPU"),
        ("hang_command_buffer", 1, _core.TimeLimitExceeded, "time limit of .*an empty kernel"),
        ("zero_gpu_time", 1, _core.Error, "gives no usable GPU times"),
        ("reversed_gpu_time", 1, _core.Error, "gives no usable GPU times"),
        ("no_device", 1, _core.Unsupported, "use the `cpu` device"),
        ("no_queue", 1, _core.Error, "gives no command queue"),
    ],
)
def test_open_reports_what_failed(metal_double, what, value, error, words):
    metal_double.set(what, value)
    with pytest.raises(error, match=words):
        _core.open("metal")
    metal_double.reset()
    assert works(_core.open("metal"))


def test_open_without_a_gpu_opens_the_cpu_device(metal_double):
    metal_double.set("no_device")
    assert _core.open("auto").kind == "cpu"


def test_kernels_run_without_residency_sets(metal_double):
    metal_double.set("no_residency")
    before = metal_double.get("resident_allocations")
    metal = _core.open("metal")
    assert not metal.capabilities["residency_sets"]
    kept = metal.allocate(1 << 16)
    assert metal_double.get("resident_allocations") == before
    assert kept.nbytes == 1 << 16
    assert works(metal)


@pytest.mark.parametrize(
    ("value", "name"),
    list(enumerate(["nominal", "fair", "serious", "critical", "unknown"])),
)
def test_the_thermal_state_is_named(metal_double, value, name):
    metal = _core.open("metal")
    metal_double.set("thermal_state", value)
    assert metal.state()["thermal_state"] == name


@pytest.mark.parametrize("on", [False, True])
def test_state_reports_low_power_mode(metal_double, on):
    metal = _core.open("metal")
    metal_double.set("low_power", on)
    assert metal.state()["low_power_mode"] is on


def test_state_reports_variables_that_slow_metal(monkeypatch, cache):
    archives = []
    for value in ("0", "1"):
        monkeypatch.setenv("MTL_SHADER_VALIDATION", value)
        metal = _core.open("metal")
        assert metal.state()["metal_tools"] == (["MTL_SHADER_VALIDATION"] if value == "1" else [])
        assert works(metal)
        archives.append(len(list(cache.rglob("*.binarchive"))))
        del metal
        gc.collect()
    assert archives[1] == 2 * archives[0] > 0
