"""The ceiling is measured once for a machine, and only ever raised."""

from __future__ import annotations

import pytest
from scripted_gpu import ScriptedGpu

from metalbench import _core
from metalbench.measure import device_limits
from metalbench.measure.device_limits import FEWEST_CORES, Ceiling, ceiling_of, cores_of


@pytest.fixture(autouse=True)
def _cache_of_its_own(monkeypatch, tmp_path):
    kept = {}
    monkeypatch.setattr(device_limits.build_cache, "load", kept.get)
    monkeypatch.setattr(device_limits.build_cache, "store", kept.__setitem__)


def test_ceiling_of_measures_once(monkeypatch):
    device = _core.open("cpu")
    found = ceiling_of(device)
    # A 386 would do.
    assert found.gflops > 0.1
    assert found.gbytes_per_s > 0.1
    monkeypatch.setattr(device_limits, "_most_a_ns", None)
    assert ceiling_of(device) == found


def test_ceiling_of_never_decreases(monkeypatch):
    device = _core.open("cpu")
    rates = iter([3.0, 5.0, 4.0, 1.0])
    monkeypatch.setattr(device_limits, "_most_a_ns", lambda *_: next(rates))
    assert ceiling_of(device) == Ceiling(3.0 * 256, 5.0 * 512)
    assert ceiling_of(device, again=True) == Ceiling(4.0 * 256, 5.0 * 512)
    assert ceiling_of(device) == Ceiling(4.0 * 256, 5.0 * 512)


def test_a_virtual_gpu_without_a_core_count_has_a_ceiling_and_roofs():
    device = ScriptedGpu(cores=0)
    assert cores_of(device) == FEWEST_CORES
    assert cores_of(_core.open("cpu")) == _core.open("cpu").cores
    assert ceiling_of(device).gflops > 0.1
