"""A series in one line."""

from __future__ import annotations

from metalbench.report.numbers import sparkline


def test_the_least_is_low_and_the_greatest_high() -> None:
    assert sparkline([1.0, 1.5, 2.0]) == "▁▅█"
    assert sparkline([1.0, None, 2.0]) == "▁!█"


def test_noise_makes_no_mountains() -> None:
    assert sparkline([1.0, 1.01, 0.995]) == "▄▄▄"
    assert sparkline([5.0]) == "▄"


def test_sparkline_of_unknown_and_no_values() -> None:
    assert sparkline([None, None]) == "!!"
    assert sparkline([]) == ""


def test_sparkline_uses_digits_if_blocks_cannot_be_encoded() -> None:
    assert sparkline([1.0, 2.0], encoding="ascii") == "18"
