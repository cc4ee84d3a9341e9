"""Digits follow the interval, units the size."""

from __future__ import annotations

import math

import pytest

from metalbench.report import numbers
from metalbench.stats import Interval


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(12_340.0, 12_310.0, 12_380.0), "12.34 us [12.31, 12.38]"),
        (Interval(12_340.0, 12_000.0, 12_900.0), "12.3 us [12.0, 12.9]"),
        (Interval(12_340.0, 9_000.0, 19_000.0), "12 us [9, 19]"),
        (Interval(2_400.0, 900.0, 9_000.0), "2.4 us [0.9, 9.0]"),
        (Interval(850.0, 849.0, 852.0), "850 ns [849, 852]"),
        (Interval(4.26e6, 4.2e6, 4.3e6), "4.26 ms [4.20, 4.30]"),
        (Interval(2.5e9, 2.4e9, 2.6e9), "2.50 s [2.40, 2.60]"),
        (Interval(0.5, 0.49, 0.51), "0.50 ns [0.49, 0.51]"),
        (Interval(1000.0, 1000.0, 1000.0), "1.00 us [1.00, 1.00]"),
        (Interval(12_340.0, -math.inf, math.inf), "12.3 us (no interval)"),
        (Interval(12_340.0, 0.0, 1.3e16), "12.3 us (no interval)"),
        (Interval(12_340.0, 9_000.0, 1.3e16), "12.3 us [>= 9.0]"),
        (Interval(12_340.0, 3.0, 19_000.0), "12.3 us [<= 19.0]"),
    ],
)
def test_times(interval: Interval, text: str) -> None:
    assert numbers.time(interval) == text


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(1.23, 1.21, 1.25), "1.23x [1.21, 1.25]"),
        (Interval(0.01234, 0.01230, 0.01240), "0.0123x [0.0123, 0.0124]"),
        (Interval(123.4, 120.0, 130.0), "123x [120, 130]"),
        (Interval(0.00001234, 0.0000123, 0.0000124), "0.0000123x [0.0000123, 0.0000124]"),
        (Interval(0.000123, 0.0001, 0.00015), "0.00012x [0.00010, 0.00015]"),
        (Interval(4e-9, 1e-9, 1e-8), "0.0000000040x [0.0000000010, 0.0000000100]"),
        (None, "-"),
    ],
)
def test_ratios(interval: Interval | None, text: str) -> None:
    assert numbers.ratio(interval) == text


def test_time_of_none_is_a_dash() -> None:
    assert numbers.time(None) == "-"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (0.00123456, "0.00123"), (1.0, "1.00"), (12.345, "12.3"), (1234.5, "1234"),
        (math.inf, "inf"),
    ],
)  # fmt: skip
def test_significant_digits_without_an_exponent(value: float, text: str) -> None:
    assert numbers.significant(value) == text


def test_durations_sizes_and_counts() -> None:
    assert [numbers.duration(seconds) for seconds in (0.04, 59.0, 60.0, 127.4)] == [
        "0.0 s", "59.0 s", "1 min 00 s", "2 min 07 s",
    ]  # fmt: skip
    assert [numbers.size(n) for n in (512, 4 * 2**20, 3 * 2**30)] == [
        "512 B", "4.00 MiB", "3.00 GiB",
    ]  # fmt: skip
    assert numbers.quantity(5.24288e6, "FLOP") == "5.24 MFLOP"
    assert numbers.quantity(12, "FLOP") == "12 FLOP"
    assert (numbers.count(1, "core"), numbers.count(2, "core")) == ("1 core", "2 cores")
