"""Failures in the middle of a plan of windows, and what becomes of its times."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from metalbench import _core

pytestmark = [pytest.mark.metal, pytest.mark.usefixtures("metal_double")]

SOURCE = "kernel void add(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"
PAGE_FAULT, TIMEOUT, OUT_OF_MEMORY, HANG = 3, 2, 8, 103
MANY = 1 << 20  # windows, far more than there is time for


def add_to(metal, x):
    pipeline = metal.compile(SOURCE).pipeline()
    return _core.Dispatch(pipeline, {"x": x}, threads_in_grid=len(x), threads=32)


@pytest.fixture
def add(metal):
    return add_to(metal, np.zeros(32, np.float32))


def sample(metal, add, **options):
    plan = {"max_pairs": MANY, "warmup_ns": 0, "window_ns": 1e5, "time_limit_ns": 60e9, **options}
    return metal.sample([add], **plan)


def still_works(metal):
    # A separate buffer: a dispatch that hung may still write to its buffers.
    x = np.zeros(32, np.float32)
    again = add_to(metal, x)
    metal.run([again])
    assert (x == 1).all()
    assert (sample(metal, again, max_pairs=8).device_ns > 0).all()


@pytest.mark.parametrize(
    ("what", "value", "error", "words"),
    [
        ("fail_command_buffer", PAGE_FAULT, _core.KernelFault, "Caused GPU Address Fault"),
        ("fail_command_buffer", TIMEOUT, _core.TimeLimitExceeded, "Caused GPU Timeout"),
        ("fail_command_buffer", HANG, _core.TimeLimitExceeded, "Caused GPU Hang"),
        ("fail_command_buffer", OUT_OF_MEMORY, _core.Error, "Insufficient Memory"),
        ("hang_command_buffer", 1, _core.TimeLimitExceeded, "still busy with"),
        ("zero_gpu_time", 1, _core.Error, "no usable GPU time: start 0"),
        ("reversed_gpu_time", 1, _core.Error, "no usable GPU time"),
    ],
)
@pytest.mark.parametrize("long_windows", [0, 4])
def test_a_failed_plan_has_no_times(
    metal, add, metal_double, what, value, error, words, long_windows
):
    def fail_after_five(done, _):
        if done == 5:
            metal_double.set(what, value)

    commits = metal_double.get("commits")
    with pytest.raises(error, match=rf"\[add\].*{words}|{words} \[add\]"):
        sample(
            metal, add, progress=fail_after_five, kernel_time_limit=0.5, long_windows=long_windows
        )
    assert metal_double.get("commits") - commits < 200, "the rest of the plan is not run"
    metal_double.reset()
    still_works(metal)


def test_windows_after_a_failed_one_are_discarded(metal, add, metal_double):
    before = metal_double.get("command_buffers")
    metal_double.set("fail_command_buffer_count", 3)
    metal_double.set("fail_command_buffer", PAGE_FAULT)
    with pytest.raises(_core.KernelFault, match=r"^\[add\] Caused GPU Address Fault"):
        sample(metal, add)
    assert metal_double.get("command_buffers") - before < 64
    metal_double.reset()
    still_works(metal)


def test_temporarily_failed_counters_are_nan(metal, add, metal_double):
    def fail_from_five_to_ten(done, _):
        if done == 5:
            metal_double.set("zero_counters", 1)
        if done == 10:
            metal_double.set("zero_counters", 0)

    samples = sample(metal, add, max_pairs=40, progress=fail_from_five_to_ten)
    assert 0 < np.isnan(samples.counter_ns).sum() < 40
    assert (samples.device_ns > 0).all()


def test_without_counters_the_counter_times_are_missing(metal_double):
    gc.collect()
    metal_double.set("no_counters")
    metal = _core.open("metal")
    assert metal.capabilities["counter_sets"] == []
    assert metal.capabilities["sampling_points"] == []
    samples = sample(metal, add_to(metal, np.zeros(32, np.float32)), max_pairs=8)
    assert np.isnan(samples.counter_ns).all()
    assert (samples.device_ns > 0).all()


def test_no_room_for_samples_leaves_the_other_clocks(metal, add, metal_double):
    metal_double.set("no_counters")
    samples = sample(metal, add, max_pairs=8)
    assert np.isnan(samples.counter_ns).all()
    assert (samples.device_ns > 0).all()
