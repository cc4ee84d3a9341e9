"""What holds for any series of times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from metalbench.stats import (
    Interval,
    Verdict,
    autocorrelation_time,
    judge,
    median_interval,
    ratio_interval,
    stability,
)

TIMES = arrays(np.float64, st.integers(1, 80), elements=st.floats(1.0, 1e9))


@given(TIMES)
def test_an_interval_contains_its_estimate_and_lies_within_the_samples(times: np.ndarray) -> None:
    interval = median_interval(times)
    assert interval.low <= interval.value <= interval.high
    if interval.bounded:
        assert times.min() <= interval.low
        assert interval.high <= times.max()


@given(TIMES)
def test_correlation_never_adds_samples_nor_takes_all(times: np.ndarray) -> None:
    assert 1.0 <= autocorrelation_time(times) <= times.size


@given(TIMES, st.sampled_from([0.5, 2.0, 1024.0]))
def test_units_do_not_matter(times: np.ndarray, factor: float) -> None:
    scaled = median_interval(factor * times)
    expected = median_interval(times).scaled(factor)
    assert (scaled.value, scaled.low, scaled.high) == (expected.value, expected.low, expected.high)
    assert stability(factor * times) == pytest.approx(stability(times))


@given(TIMES)
def test_a_series_is_as_fast_as_itself(times: np.ndarray) -> None:
    interval = ratio_interval(times, times)
    assert interval.value == 1.0
    assert judge(interval) is (Verdict.SAME if interval.bounded else Verdict.INCONCLUSIVE)


@given(TIMES)
def test_stability_is_a_fraction(times: np.ndarray) -> None:
    assert 0.0 <= stability(times) <= 1.0


@given(st.floats(0.01, 100.0), st.floats(1.0, 2.0), st.floats(1.0, 2.0))
def test_a_verdict_turns_around_with_its_ratio(value: float, below: float, above: float) -> None:
    ratio = Interval(value, value / below, value * above)
    inverse = ratio.map(lambda each: 1 / each)
    opposite = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
    # 1 +- 1 % is not quite symmetric under inversion: leave its edges out.
    edges = (0.99, 1.01, 1 / 0.99, 1 / 1.01)
    if all(abs(end - edge) > 1e-3 for end in (ratio.low, ratio.high) for edge in edges):
        assert judge(inverse) is opposite.get(judge(ratio), judge(ratio))
