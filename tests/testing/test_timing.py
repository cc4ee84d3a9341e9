"""`metalbench.time`: what it takes and what it tells."""

from __future__ import annotations

import numpy as np
import pytest

import metalbench
from metalbench.errors import DispatchError, KernelFault
from metalbench.testing import timing

TWICE = """#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = 2 * x[i];
}
"""
X = np.ones(1000)
GRID = {"grid": 1000, "threadgroup": 128}


@pytest.mark.parametrize("output", [1000, (10, 100), np.empty((1000,), np.float32)])
def test_time_without_a_reference(output):
    timed = metalbench.time(TWICE, {"x": X}, {"y": output}, seconds=0.05, **GRID)
    assert timed.ns.value > 0
    assert timed.measurement.pairs == timed.measurement.samples.candidate_ns.size > 0
    assert (timed.ratio, timed.verdict) == (None, None)
    assert str(timed).startswith("twice: ")
    assert "host time of a simulation, not of a GPU" in str(timed)


def test_a_reference_is_timed_in_pairs():
    passes = []

    def reference():
        passes.append(1)
        return np.sort(RANDOM)

    timed = metalbench.time(TWICE, {"x": X}, {"y": 1000}, seconds=0.05, reference=reference, **GRID)
    assert len(passes) >= timed.measurement.pairs
    assert timed.ratio is not None
    assert timed.verdict is not None
    assert "reference / kernel " in str(timed)


RANDOM = np.random.default_rng(0).normal(size=1 << 16)


def test_time_raises_for_invalid_arguments_and_crashes(monkeypatch):
    def measured(*_, **__):
        raise AssertionError("nothing may be timed")

    monkeypatch.setattr(timing, "measure", measured)
    with pytest.raises(DispatchError, match="outputs: z: no such argument; expected one of x, y"):
        metalbench.time(TWICE, {"x": X}, {"z": 1000}, **GRID)
    crashing = TWICE.replace("2 * x[i]", "*(device float*)(ulong)(i + 64)")
    with pytest.raises(KernelFault):
        metalbench.time(crashing, {"x": X}, {"y": 1000}, **GRID)
