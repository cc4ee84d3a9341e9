"""Stopping and results of sampling, on a device whose times are known."""

from __future__ import annotations

import numpy as np
import pytest
from scripted_sampler import ScriptedSampler, steady

from metalbench.measure.measurement import WARMUP_NS, Measurement, Plan, StopReason
from metalbench.measure.sampling import Sides, measure
from metalbench.stats import Cause, Verdict

REFERENCE = object()


def run(sampler: ScriptedSampler, plan: Plan = Plan(), **options: object) -> Measurement:  # noqa: B008
    sides = Sides(["dispatch"], REFERENCE)
    return measure(sampler, sides, plan, clock=sampler.clock, **options)


def looks_of(sampler: ScriptedSampler) -> list[dict[str, object]]:
    return [call for call in sampler.calls if not call.get("long_windows")]


def test_a_steady_kernel_stops_when_its_verdict_is_settled() -> None:
    sampler = ScriptedSampler(steady(1e4, 0.001), steady(2e4, 0.001), seconds_per_pair=1e-4)
    result = run(sampler)
    assert {call["max_pairs"] for call in looks_of(sampler)} == {32}
    assert result.stopped is StopReason.SETTLED
    assert result.pairs <= 192
    assert result.verdict is Verdict.FASTER
    assert result.ratio is not None
    assert result.ratio.value == pytest.approx(2.0, rel=1e-3)
    assert result.ratio.low > 1.99


def test_a_difference_of_ten_percent_is_settled_early() -> None:
    sampler = ScriptedSampler(steady(1e4, 0.02), steady(1.1e4, 0.02), seconds_per_pair=1e-4)
    result = run(sampler)
    assert (result.stopped, result.verdict) == (StopReason.SETTLED, Verdict.FASTER)
    assert result.pairs <= 192
    assert result.candidate_ns.relative_half_width <= 0.02


def test_an_uncertain_time_continues_after_a_settled_verdict() -> None:
    sampler = ScriptedSampler(steady(1e4, 0.15), steady(9e4, 0.15), seconds_per_pair=1e-4)
    result = run(sampler)
    assert (result.stopped, result.verdict) == (StopReason.SETTLED, Verdict.FASTER)
    assert result.pairs >= 256
    assert result.candidate_ns.relative_half_width <= 0.02


def test_an_eighth_of_the_seconds_is_enough_for_an_uncertain_time() -> None:
    sampler = ScriptedSampler(steady(1e4, 0.5), steady(9e4, 0.5), seconds_per_pair=1e-2)
    result = run(sampler, Plan(seconds=10.0))
    assert (result.stopped, result.verdict) == (StopReason.SETTLED, Verdict.FASTER)
    assert result.candidate_ns.relative_half_width > 0.02
    assert 120 <= result.pairs < 200


def test_few_pairs_of_a_slow_kernel_are_enough_for_a_large_effect() -> None:
    sampler = ScriptedSampler(steady(1e7, 0.02), steady(2e8, 0.02), seconds_per_pair=0.2)
    result = run(sampler, Plan(seconds=10.0))
    assert (result.stopped, result.verdict) == (StopReason.SETTLED, Verdict.FASTER)
    assert 8 <= result.pairs <= 12
    assert result.ratio is not None
    assert result.ratio.low > 18.0


def test_long_windows_have_the_inputs_of_the_last_batch() -> None:
    sampler = ScriptedSampler(steady(1e4, 0.001), steady(2e4, 0.001), seconds_per_pair=1e-4)
    seen: list[object] = []
    refresh = lambda batch: seen.append(len(sampler.calls))  # noqa: E731
    sides = Sides(["dispatch"], object(), refresh=refresh)
    measure(sampler, sides, Plan(), clock=sampler.clock)
    (long,) = (n for n, call in enumerate(sampler.calls) if call.get("long_windows"))
    assert seen
    assert long not in seen


def test_a_ratio_at_the_margin_ends_when_it_is_precise() -> None:
    sampler = ScriptedSampler(steady(1e4, 0.01), steady(1.01e4, 0.01), seconds_per_pair=1e-4)
    result = run(sampler, Plan(seconds=10.0))
    assert (result.stopped, result.verdict) == (StopReason.PRECISE, Verdict.INCONCLUSIVE)


def test_without_a_reference_the_time_has_to_be_precise() -> None:
    sampler = ScriptedSampler(steady(1e4, 0.01), None, seconds_per_pair=1e-4)
    result = measure(sampler, Sides(["dispatch"]), Plan(), clock=sampler.clock)
    assert result.stopped is StopReason.PRECISE
    assert result.candidate_ns.relative_half_width <= 0.005


def test_only_the_first_batch_warms_up_and_every_batch_has_a_seed() -> None:
    sampler = ScriptedSampler(steady(1e4, 0.001), steady(1e4, 0.1), seconds_per_pair=1e-4)
    run(sampler, Plan(seed=5))
    assert [call["warmup_ns"] for call in sampler.calls[:3]] == [WARMUP_NS, 0, 0]
    assert [call["seed"] for call in sampler.calls[:3]] == [5, 37, 69]


@pytest.mark.parametrize(("seconds_per_pair", "again"), [(0.02, WARMUP_NS // 20), (0.3, 0)])
def test_new_inputs_are_warmed_up_unless_a_pair_is_long(
    seconds_per_pair: float, again: int
) -> None:
    sampler = ScriptedSampler(steady(1e8, 0.1), steady(1e8, 0.1), seconds_per_pair=seconds_per_pair)
    sides = Sides(["dispatch"], REFERENCE, refresh=lambda _: None)
    measure(sampler, sides, Plan(seconds=4.0), clock=sampler.clock)
    assert [call["warmup_ns"] for call in sampler.calls[:3]] == [WARMUP_NS, again, again]


@pytest.mark.parametrize(
    ("seconds_per_pair", "look"), [(1e-3, 32), (0.005, 12), (0.01, 6), (0.02, 4), (0.1, 4)]
)
def test_batches_have_equal_sizes_and_a_slow_kernel_has_several(
    seconds_per_pair: float, look: int
) -> None:
    noisy = steady(1e4, 0.3)
    sampler = ScriptedSampler(noisy, noisy, seconds_per_pair=seconds_per_pair)
    samples = run(sampler, Plan(seconds=2.0)).samples
    numbers, counts = np.unique(samples.batch, return_counts=True)
    assert numbers.tolist() == list(range(len(looks_of(sampler))))
    assert set(counts) == {look}
    assert numbers.size >= 5
    assert (np.diff(samples.batch) >= 0).all()


def test_time_for_new_inputs_is_part_of_the_time() -> None:
    noisy = steady(1e4, 0.3)
    sampler = ScriptedSampler(noisy, noisy, seconds_per_pair=0.001)

    def refresh(_: int) -> None:
        sampler.now += 0.032

    sides = Sides(["dispatch"], REFERENCE, refresh=refresh)
    result = measure(sampler, sides, Plan(seconds=1.0, warmup_ns=0), clock=sampler.clock)
    assert result.pairs == pytest.approx(500, abs=32)


def test_a_noisy_kernel_stops_at_the_time_limit() -> None:
    sampler = ScriptedSampler(steady(1e4, 0.3), steady(1e4, 0.3), seconds_per_pair=0.002)
    result = run(sampler, Plan(seconds=1.0))
    assert result.stopped is StopReason.TIME
    assert result.pairs == pytest.approx(500, abs=16)  # to the nearest look
    assert result.verdict is Verdict.INCONCLUSIVE


def test_a_slow_kernel_has_the_pairs_that_fit_into_four_times_the_time() -> None:
    sampler = ScriptedSampler(steady(1e9, 0.01), steady(4e8, 0.01), seconds_per_pair=1.1)
    result = run(sampler, Plan(seconds=2.0, min_pairs=16, seed=1))
    # As many as fit into four times the time; one look more, at the end of which they are known.
    assert result.pairs == 8
    assert result.candidate_ns.is_bounded
    assert result.verdict is Verdict.SLOWER


@pytest.mark.parametrize(("mlx_ns", "verdict"), [(1e8, Verdict.SLOWER), (1e10, Verdict.FASTER)])
def test_five_pairs_suffice_for_a_slow_kernel_far_from_mlx(mlx_ns: float, verdict: Verdict) -> None:
    sampler = ScriptedSampler(steady(1e9, 0.05), steady(mlx_ns, 0.05), seconds_per_pair=1.1)
    result = run(sampler, Plan(seconds=2.0, seed=1))
    assert (result.stopped, result.verdict) == (StopReason.SETTLED, verdict)
    assert np.bincount(result.samples.batch).tolist() == [4, 1]
    assert result.candidate_ns.is_bounded
    assert result.reference_ns is not None
    assert result.reference_ns.is_bounded


def test_pairs_of_large_spread_need_the_usual_count() -> None:
    sampler = ScriptedSampler(steady(1e8, 0.4), steady(4e8, 0.4), seconds_per_pair=1.1)
    result = run(sampler, Plan(seconds=2.0, seed=1))
    assert np.bincount(result.samples.batch).tolist() == [4, 4]


def test_an_outlier_among_the_first_five_pairs_requires_eight() -> None:
    times = iter([1e10, 1.02e10, 1.01e10, 1.03e10, 2e9] + 7 * [1e10])
    taken = lambda _, count: np.array([next(times) for _ in range(count)])  # noqa: E731
    sampler = ScriptedSampler(steady(1e9, 0.01), taken, seconds_per_pair=1.1)
    result = run(sampler, Plan(seconds=2.0, seed=1))
    assert np.bincount(result.samples.batch).tolist() == [4, 1, 4]


def test_distant_pairs_within_the_time_limit_are_at_least_eight() -> None:
    sampler = ScriptedSampler(steady(1e8, 0.01), steady(1e9, 0.01), seconds_per_pair=0.1)
    result = run(sampler, Plan(seconds=2.0, seed=1))
    assert result.pairs == 8


def test_a_slow_kernel_without_a_reference_has_eight_samples() -> None:
    sampler = ScriptedSampler(steady(1e9, 0.01), None, seconds_per_pair=1.1)
    result = measure(sampler, Sides(["dispatch"]), Plan(seconds=2.0), clock=sampler.clock)
    assert result.pairs == 8


def test_the_pair_limit_ends_a_kernel_that_never_settles() -> None:
    sampler = ScriptedSampler(steady(1e4, 0.3), steady(1e4, 0.3), seconds_per_pair=1e-6)
    result = run(sampler, Plan(max_pairs=200))
    assert result.stopped is StopReason.PAIRS
    assert result.pairs == 200
    assert np.unique(result.samples.batch, return_counts=True)[1].tolist() == [32] * 6 + [8]


def test_without_a_reference_there_is_no_verdict() -> None:
    sampler = ScriptedSampler(steady(1e4, 0.001), None, seconds_per_pair=1e-4)
    result = measure(sampler, Sides(["dispatch"]), Plan(), clock=sampler.clock)
    assert (result.reference_ns, result.ratio, result.verdict) == (None, None, None)
    assert result.candidate_ns.value == pytest.approx(1e4, rel=1e-3)


def test_all_raw_samples_are_recorded_in_order() -> None:
    def counting(random: np.random.Generator, pairs: int) -> np.ndarray:
        counting.taken += pairs  # type: ignore[attr-defined]
        return np.arange(counting.taken - pairs, counting.taken) + 1e6  # type: ignore[attr-defined]

    counting.taken = 0  # type: ignore[attr-defined]
    sampler = ScriptedSampler(counting, steady(1e6, 0.5), seconds_per_pair=0.01)
    result = run(sampler, Plan(seconds=1.0))
    assert result.samples.candidate_ns.tolist() == [1e6 + n for n in range(result.pairs)]
    assert result.samples.reference_ns.size == result.samples.candidate_first.size == result.pairs


@pytest.mark.parametrize(("kernel_ns", "launch_bound"), [(640, True), (660, False)])
def test_a_kernel_near_the_floor_is_launch_bound(kernel_ns: float, launch_bound: bool) -> None:
    sampler = ScriptedSampler(steady(kernel_ns, 0.001), None, floor_ns=500, seconds_per_pair=1e-4)
    result = measure(sampler, Sides(["dispatch"]), Plan(), clock=sampler.clock)
    assert result.floor_ns == 500
    assert result.launch_bound is launch_bound


def test_progress_rises_to_the_end_of_the_time() -> None:
    told: list[float] = []
    sampler = ScriptedSampler(steady(1e4, 0.3), steady(1e4, 0.3), seconds_per_pair=0.002)
    run(sampler, Plan(seconds=1.0), progress=told.append)
    assert told == sorted(told)
    assert told[0] == 0.0
    assert 0.4 < told[-1] <= 1.0


@pytest.mark.parametrize("seconds_per_pair", [1e-3, 0.03])
def test_progress_is_reported_at_most_five_times_a_second(seconds_per_pair: float) -> None:
    told: list[float] = []
    noisy = steady(1e4, 0.3)
    sampler = ScriptedSampler(noisy, noisy, seconds_per_pair=seconds_per_pair)
    plan = Plan(seconds=2.0, warmup_ns=0, long_windows=0)
    run(sampler, plan, progress=lambda _: told.append(sampler.now))
    gaps = np.diff(told)
    assert gaps.min() >= 0.2
    assert gaps.max() <= 0.2 + seconds_per_pair + 1e-6
    assert len(told) >= 8


def test_levels_of_batches_enter_the_judgement() -> None:
    def candidate(random: np.random.Generator, pairs: int) -> np.ndarray:
        return 1e4 * random.lognormal(0.0, 0.03) * random.lognormal(0.0, 0.002, pairs)

    sampler = ScriptedSampler(candidate, steady(1e4, 0.002), seconds_per_pair=0.002)
    judgement = run(sampler, Plan(seconds=1.0)).judgement
    assert judgement is not None
    assert judgement.batch_spread == pytest.approx(0.03, rel=0.5)


def test_the_order_effect_is_removed_from_the_ratio() -> None:
    sampler = ScriptedSampler(steady(1e4, 0.002), steady(1e4, 0.002), second=0.02)
    result = run(sampler, Plan(seconds=1.0))
    assert result.judgement is not None
    assert result.judgement.order_effect == pytest.approx(0.02, rel=0.1)
    assert result.verdict is Verdict.SAME


def test_a_verdict_has_its_judgement() -> None:
    noisy = ScriptedSampler(steady(1e4, 0.3), steady(1e4, 0.3), seconds_per_pair=0.002)
    judgement = run(noisy, Plan(seconds=1.0)).judgement
    assert judgement is not None
    assert [reason.cause for reason in judgement.reasons] == [Cause.WIDE]
    alone = ScriptedSampler(steady(1e4, 0.001), None, seconds_per_pair=1e-4)
    result = measure(alone, Sides(["dispatch"]), Plan(), clock=alone.clock)
    assert result.judgement is None
