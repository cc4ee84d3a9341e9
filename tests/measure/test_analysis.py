"""Rates, roof, scores and geometry from numbers that can be worked out by hand."""

from __future__ import annotations

import math

import pytest

from metalbench.measure.analysis import Occupancy, Target, roofline, scores, throughput
from metalbench.measure.device_limits import Peaks
from metalbench.stats import Interval

PEAKS = Peaks(gflops=1000.0, gbytes_per_s=100.0, source="a data sheet")
UNKNOWN = "an unknown chip"


def time_of(nanoseconds: float) -> Interval:
    return Interval(nanoseconds, 0.9 * nanoseconds, 1.1 * nanoseconds)


def test_rates_fall_as_the_time_rises() -> None:
    work = throughput(Interval(1000.0, 500.0, 2000.0), flops=2e6, nbytes=1e5)
    assert work.gflops == Interval(2000.0, 1000.0, 4000.0)
    assert work.gbytes_per_s == Interval(100.0, 50.0, 200.0)
    assert work.intensity == 20.0


def test_throughput_without_bytes_has_infinite_intensity() -> None:
    assert throughput(time_of(1.0), 1.0, 0.0).intensity == math.inf


@pytest.mark.parametrize(
    ("flops", "nbytes", "bound", "fraction"),
    [(1e6, 1e3, "compute", 0.5), (1e3, 1e5, "memory", 0.5), (1e3, 1e4, "memory", 0.05)],
)
def test_the_slower_limit_is_the_bound(
    flops: float, nbytes: float, bound: str, fraction: float
) -> None:
    time = time_of(2000.0)
    place = roofline(time, throughput(time, flops, nbytes), PEAKS, UNKNOWN)
    assert (place.bound, place.valid) == (bound, True)
    assert place.fraction == pytest.approx(fraction)


def test_a_time_below_the_floor_is_invalid_and_claims_no_fraction() -> None:
    time = time_of(500.0)
    place = roofline(time, throughput(time, 1e6, 1.0), PEAKS, UNKNOWN)
    assert not place.valid
    assert place.fraction is None
    assert "below the floor" in place.reason


def test_roofline_caps_the_fraction_at_one() -> None:
    time = time_of(990.0)
    place = roofline(time, throughput(time, 1e6, 1.0), PEAKS, UNKNOWN)
    assert place.valid
    assert place.fraction == 1.0


def test_unknown_peaks_are_said_to_be_unknown() -> None:
    time = time_of(500.0)
    place = roofline(time, throughput(time, 1e6, 1.0), None, UNKNOWN)
    assert (place.bound, place.fraction, place.reason) == ("unknown", None, UNKNOWN)


def test_scores_follow_their_definitions() -> None:
    work = throughput(Interval(1000.0, 1000.0, 1000.0), flops=2e6, nbytes=1e5)
    all_five = scores(1.5, work, 0.9)
    assert [all_five[target] for target in Target] == [
        1.5,
        2000.0,
        100.0,
        0.9,
        pytest.approx(0.5 * 1.5 + 0.3 * 2.0 + 0.2 * 0.9),
    ]


def test_without_a_reference_two_scores_are_missing() -> None:
    work = throughput(time_of(1000.0), flops=2e6, nbytes=1e5)
    all_five = scores(None, work, 0.9)
    assert all_five[Target.SPEED] is None
    assert all_five[Target.BALANCED] is None
    assert all_five[Target.STABLE] == 0.9


def test_occupancy_counts_simdgroups_and_idle_lanes() -> None:
    geometry = Occupancy("k", (8, 1, 1), (10, 7, 1), 1024, 10_000, 32_768, 32)
    assert geometry.threads_per_threadgroup == 70
    assert geometry.simdgroups == 3
    assert geometry.idle_lanes == 26
