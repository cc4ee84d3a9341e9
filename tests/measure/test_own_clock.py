"""A GPU's own clock beside wall time: which of them says what."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scripted_sampler import ScriptedGpu, ScriptedSampler, steady

from metalbench.analysis import Peaks, analyse
from metalbench.measure import Measurement, Plan, Sides, measure

QUICK = Plan(seconds=0.1)


def run(sampler: ScriptedSampler, reference: object | None = True) -> Measurement:
    return measure(sampler, Sides(["dispatch"], reference), QUICK, clock=sampler.clock)


def gpu(**options: float) -> ScriptedGpu:
    return ScriptedGpu(steady(1e4, 0.001), steady(2e4, 0.001), **options)


def test_the_ratio_is_of_wall_time_and_gpu_time_is_kept_beside_it() -> None:
    result = run(gpu())
    assert result.clock == "wall time"
    assert result.candidate_ns.value == pytest.approx(1e4, rel=1e-3)
    assert result.gpu_ns is not None
    assert result.gpu_ns.value == pytest.approx(5e3, rel=1e-3)
    assert result.ratio is not None
    assert result.ratio.value == pytest.approx(2.0, rel=1e-3)


def test_every_look_keeps_the_times_of_all_clocks() -> None:
    result = run(gpu())
    own = result.samples.own
    assert own is not None
    for times in (own.device_ns, own.counter_ns, own.wall_ns, own.encode_ns):
        assert times.shape == (result.pairs,)
    assert np.array_equal(own.wall_ns, result.samples.candidate_ns)
    assert result.pairs > 64


def test_without_a_reference_everything_is_gpu_time() -> None:
    result = run(gpu(), reference=None)
    assert result.clock == "GPU time"
    assert result.gpu_ns == result.candidate_ns


def test_a_device_without_a_clock_of_its_own_has_one_time() -> None:
    result = run(ScriptedSampler(steady(1e4, 0.001), steady(2e4, 0.001)))
    assert (result.gpu_ns, result.clock, result.samples.own) == (None, None, None)
    assert result.work_ns == result.candidate_ns
    assert result.doubts == ()


def test_throughput_and_roofline_are_those_of_the_gpu_time() -> None:
    result = run(gpu())
    peaks = Peaks(1000.0, 100.0, "data sheet")
    analysis = analyse(result, 1e6, 1e5, simulated=False, peaks=peaks)
    assert analysis.work.gflops.value == pytest.approx(1e6 / 5e3, rel=1e-3)
    assert analysis.work.gbytes_per_s.value == pytest.approx(1e5 / 5e3, rel=1e-3)
    assert analysis.roofline.fraction == pytest.approx(0.2, rel=1e-2)
    assert analysis.scores.speed == result.ratio.value  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("counted", "words"),
    [(1.0, None), (0.96, None), (0.9, "10 % less"), (1.2, "20 % more"), (math.nan, None)],
)
def test_clocks_that_disagree_are_told(counted: float, words: str | None) -> None:
    doubts = run(gpu(counted=counted)).doubts
    assert len(doubts) == (words is not None)
    assert all(words in doubt and "clocks disagree" in doubt for doubt in doubts)


def test_counters_that_failed_in_some_windows_are_left_out() -> None:
    own = run(gpu(counted=0.9)).samples.own
    assert own is not None
    own.counter_ns[::2] = math.nan
    assert own.counter_deviation == pytest.approx(-0.1, rel=1e-6)
