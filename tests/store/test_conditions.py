"""Warnings about a device's state before measuring."""

from __future__ import annotations

import pytest

from metalbench.report.warnings import facts_text
from metalbench.store.result import Facts, list_device_warnings, warn_of_load


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({}, []),
        ({"low_power_mode": False, "thermal_state": "nominal"}, []),
        ({"low_power_mode": True, "thermal_state": "nominal"}, ["about 30 % slower; turn it off"]),
        ({"thermal_state": "serious"}, ["thermal state serious"]),
        ({"low_power_mode": True, "thermal_state": "fair"}, ["Low Power", "cool down"]),
        ({"throttle_reasons": []}, []),
        ({"throttle_reasons": ["idle"]}, []),
        ({"throttle_reasons": ["idle", "power cap"]}, ["clock back (power cap)"]),
        ({"metal_tools": []}, []),
        ({"metal_tools": ["MTL_DEBUG_LAYER", "MTL_HUD_ENABLED"]}, ["MTL_HUD_ENABLED is set"]),
    ],
)
def test_list_device_warnings_gives_cause_and_remedy(state: Facts, words: list[str]) -> None:
    found = list_device_warnings(state)
    assert len(found) == len(words)
    assert all(part in each for part, each in zip(words, found, strict=True))


def test_warn_of_load_ignores_the_load_of_our_last_run() -> None:
    assert warn_of_load(2.0, 2) is None
    assert warn_of_load(12.0, 10) is None
    assert "load 4.2 on 2 cores" in (warn_of_load(4.2, 2) or "")


def test_facts_read_as_words_with_their_units() -> None:
    facts = {
        "low_power_mode": True,
        "memory_bytes": 16 * 2**30,
        "tick_ns": 41.67,
        "counter_sets": ["timestamp"],
        "sampling_points": [],
        "family": "apple9",
    }
    assert facts_text(facts) == (
        "low power mode yes, memory 16.0 GiB, tick 41.7 ns, counter sets timestamp, "
        "sampling points none, family apple9"
    )
