"""Properties that hold for any series of times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from metalbench.stats import (
    Interval,
    Verdict,
    assess,
    autocorrelation_time,
    cross_check,
    find_drift,
    find_modes,
    judge,
    median_interval,
    ratio_interval,
    stability,
)
from metalbench.stats.series import FEWEST_BLOCKS

UNTIMED = settings(deadline=None)
TIMES = arrays(np.float64, st.integers(1, 80), elements=st.floats(1.0, 1e9))


@UNTIMED
@given(TIMES)
def test_an_interval_contains_its_estimate_and_lies_within_the_samples(times: np.ndarray) -> None:
    interval = median_interval(times)
    assert interval.low <= interval.value <= interval.high
    if times.size in (5, 6):  # too few for ranks: these reach beyond
        assert interval.low <= times.min()
        assert times.max() <= interval.high
    elif interval.is_bounded:
        assert times.min() <= interval.low
        assert interval.high <= times.max()


@UNTIMED
@given(TIMES)
def test_correlation_never_adds_samples_nor_takes_all(times: np.ndarray) -> None:
    assert 1.0 <= autocorrelation_time(times) <= times.size


@UNTIMED
@given(TIMES, st.sampled_from([0.5, 2.0, 1024.0]))
def test_units_do_not_matter(times: np.ndarray, factor: float) -> None:
    scaled = median_interval(factor * times)
    expected = median_interval(times).scale(factor)
    assert (scaled.value, scaled.low, scaled.high) == (expected.value, expected.low, expected.high)
    assert stability(factor * times) == pytest.approx(stability(times))


@UNTIMED
@given(TIMES)
def test_ratio_interval_of_a_series_with_itself_is_one(times: np.ndarray) -> None:
    interval = ratio_interval(times, times)
    assert interval.value == 1.0
    assert judge(interval) is (Verdict.SAME if interval.is_bounded else Verdict.INCONCLUSIVE)


@UNTIMED
@given(TIMES)
def test_stability_is_a_fraction(times: np.ndarray) -> None:
    assert 0.0 <= stability(times) <= 1.0


@UNTIMED
@given(st.floats(0.01, 100.0), st.floats(1.0, 2.0), st.floats(1.0, 2.0))
def test_a_verdict_turns_around_with_its_ratio(value: float, below: float, above: float) -> None:
    ratio = Interval(value, value / below, value * above)
    inverse = ratio.map(lambda each: 1 / each)
    opposite = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
    # 1 +- 1 % is not quite symmetric under inversion: leave its edges out.
    edges = (0.99, 1.01, 1 / 0.99, 1 / 1.01)
    if all(abs(end - edge) > 1e-3 for end in (ratio.low, ratio.high) for edge in edges):
        assert judge(inverse) is opposite.get(judge(ratio), judge(ratio))


@UNTIMED
@given(TIMES)
def test_modes_share_all_samples_in_order(times: np.ndarray) -> None:
    parts = find_modes(np.log(times))
    assert sum(part.share for part in parts) == pytest.approx(1.0)
    values = [part.value for part in parts]
    assert values == sorted(values)
    assert np.log(times.min()) <= values[0] <= values[-1] <= np.log(times.max())


@UNTIMED
@given(TIMES)
def test_a_series_backwards_drifts_the_other_way(times: np.ndarray) -> None:
    there, back = find_drift(np.log(times)), find_drift(np.log(times)[::-1])
    if there is not None and back is not None:
        assert 0.0 <= there.p_value <= 1.0
        assert there.per_sample.low <= there.per_sample.value <= there.per_sample.high
        if times.size < 2 * FEWEST_BLOCKS:
            assert there.tau == -back.tau


@UNTIMED
@given(TIMES)
def test_a_bootstrap_contains_its_estimate(times: np.ndarray) -> None:
    check = cross_check(np.log(times))
    if check is not None:
        assert check.ratio.low <= check.ratio.value <= check.ratio.high
        assert 0.0 <= min(check.p_above, check.p_below) <= 1.0
        assert check.p_above + check.p_below >= 1.0


@UNTIMED
@given(TIMES, st.integers(0, 2**32))
def test_only_an_inconclusive_judgement_has_reasons(times: np.ndarray, seed: int) -> None:
    random = np.random.default_rng(seed)
    judgement = assess(
        times,
        random.permutation(times),
        candidate_first=random.random(times.size) < 0.5,
        batch=np.arange(times.size) // 8,
    )
    assert (judgement.verdict is Verdict.INCONCLUSIVE) == bool(judgement.reasons)
    assert 0.0 <= judgement.p_value <= 1.0
    assert 1.0 <= judgement.effective_pairs <= times.size
    assert all(reason.seen and reason.remedy for reason in judgement.reasons)
