"""Properties of the Metal device."""

from __future__ import annotations

import re

import pytest

from metalbench import _core

pytestmark = pytest.mark.metal


def test_the_device_has_its_own_clock(metal: _core.Device) -> None:
    assert metal.kind == "metal"
    assert metal.own_clock
    assert 1 <= metal.tick_ns < 1e6


def test_its_chip_is_its_name(metal: _core.Device) -> None:
    assert metal.chip is None or re.fullmatch(r"m\d+(_pro|_max|_ultra)?", metal.chip)
    if metal.chip:
        assert metal.chip.split("_")[0].upper() in metal.name


def test_its_capabilities_are_known(metal: _core.Device) -> None:
    known = metal.capabilities
    assert re.fullmatch(r"apple\d+|mac2", known["family"])
    assert known["working_set_bytes"] > 0
    assert known["max_buffer_bytes"] > 0
    assert known["memory_bytes"] >= 2**30
    assert known["tick_ns"] == metal.tick_ns
    assert isinstance(known["counter_sets"], list)
    assert isinstance(known["sampling_points"], list)
    assert {"metal3", "metal4", "unified_memory", "residency_sets", "gpu_trace", "os_version"} <= {
        *known
    }


def test_state_is_read_on_each_call(metal: _core.Device) -> None:
    state = metal.state()
    assert state["thermal_state"] in {"nominal", "fair", "serious", "critical"}
    assert isinstance(state["low_power_mode"], bool)
    before = state["allocated_bytes"]
    kept = metal.allocate(1 << 24)
    assert metal.state()["allocated_bytes"] >= before + kept.nbytes
