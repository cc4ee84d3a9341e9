"""The table of chips, and the text about a device."""

from __future__ import annotations

import pytest

from agent_steel.models.prompt import facts_of
from metalbench.chips import CHIPS
from metalbench.store.result import DeviceFacts


def told(chip, cores, kind="metal"):
    return facts_of(DeviceFacts(kind, "a device", chip, cores))


def test_a_chip_with_fewer_cores_has_its_own_bandwidth():
    assert "32 GPU cores, 410 GB/s" in told("m4_max", 32)
    assert "40 GPU cores, 546 GB/s" in told("m4_max", 40)


def test_arithmetic_is_by_cores_and_unknown_where_none_is_published():
    assert "2.6 TFLOP/s" in told("m1", 8)
    # 7 of 8 cores of 2.6 TFLOP/s.
    assert "2.27 TFLOP/s" in told("m1", 7)
    assert "not published" in told("m4", 10)


def test_figures_of_an_unknown_core_count_are_upper_limits():
    assert "up to 32 GPU cores, up to 400 GB/s of memory bandwidth, up to 10.4" in told("m1_max", 0)


def test_an_unknown_chip_is_described_as_unknown():
    assert "nothing is published" in told("m99", 10)
    assert "nothing is published" in told(None, 10)
    assert "simulation" in told(None, 2, kind="cpu")


@pytest.mark.parametrize("chip", CHIPS.values(), ids=CHIPS)
def test_figures_are_in_a_range_that_can_be(chip):
    # A core has always had between 7 and 20 GB/s, and 0.3 to 0.4 TFLOP/s.
    assert all(7 <= gbytes / cores <= 20 for cores, gbytes in chip.bandwidths.items())
    assert chip.tflops is None or 0.3 <= chip.tflops / chip.cores <= 0.4
    assert "Apple" in chip.source
