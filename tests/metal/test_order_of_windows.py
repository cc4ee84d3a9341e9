"""Windows follow one another on a GPU that would run them at once."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

pytestmark = [pytest.mark.metal, pytest.mark.usefixtures("metal_double")]

SOURCE = """
kernel void add(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }
kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }
"""
GPU_NS = 300e3
PLAN = {"max_pairs": 16, "warmup_ns": 0, "candidate_window": 3, "reference_window": 2}


def dispatch(metal: _core.Device, name: str, x: object) -> _core.Dispatch:
    pipeline = metal.compile(SOURCE).pipeline(name)
    return _core.Dispatch(pipeline, {"x": x}, threads_in_grid=32, threads=32)


@pytest.mark.parametrize("latency_ns", [0, 60e3])
def test_windows_without_shared_memory_have_independent_times(
    metal, metal_double, latency_ns
) -> None:
    metal_double.set("no_engine", GPU_NS)
    metal_double.set("latency_in_ns", latency_ns)
    metal_double.set("latency_out_ns", latency_ns)
    candidate = dispatch(metal, "add", np.zeros(32, np.float32))
    reference = dispatch(metal, "twice", np.zeros(32, np.float32))
    samples = metal.sample([candidate], [reference], time_limit_ns=10e9, long_windows=4, **PLAN)
    assert samples.clock == "device"
    for times, passes in [
        (samples.candidate_ns, 3),
        (samples.reference_ns, 2),
        (samples.counter_ns, 3),
        (samples.long_ns, 12),
    ]:
        np.testing.assert_allclose(times, GPU_NS, atol=2 * samples.tick_ns / passes)


def test_windows_over_one_array_run_in_order(metal, metal_double) -> None:
    # Metal knows of two buffers, not that they are the same memory.
    x = np.ones(32, np.float32)
    first, second = metal.buffer(x), metal.buffer(x)
    assert first.shared
    assert second.shared
    add, twice = dispatch(metal, "add", first), dispatch(metal, "twice", second)
    plan = PLAN | {"candidate_window": 1, "reference_window": 1, "time_limit_ns": 10e9}
    samples = metal.sample([add], [twice], **plan)
    expected = 1.0
    for candidate_first in samples.candidate_first:
        expected = (expected + 1) * 2 if candidate_first else expected * 2 + 1
    assert (x == expected).all()
    # So long that the next one is there before the end: stale data would be a violation.
    metal_double.set("no_engine", GPU_NS)
    metal.sample([add], [twice], **plan)
