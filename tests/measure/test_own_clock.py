"""Times by the GPU's clock and by wall time, and the clock of the ratio."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scripted_sampler import ScriptedGpu, ScriptedSampler, steady

from metalbench.measure.analysis import analyse
from metalbench.measure.device_limits import Peaks
from metalbench.measure.measurement import Measurement, Plan
from metalbench.measure.sampling import Sides, measure

QUICK = Plan(seconds=0.1)


def run(sampler: ScriptedSampler, reference: object | None = True) -> Measurement:
    return measure(sampler, Sides(["dispatch"], reference), QUICK, clock=sampler.clock)


def gpu(**options: float) -> ScriptedGpu:
    return ScriptedGpu(steady(1e4, 0.001), steady(2e4, 0.001), **options)


def test_the_ratio_is_of_wall_time_and_gpu_time_is_recorded() -> None:
    result = run(gpu())
    assert result.clock == "wall time"
    assert result.candidate_ns.value == pytest.approx(1e4, rel=1e-3)
    assert result.gpu_ns is not None
    assert result.gpu_ns.value == pytest.approx(5e3, rel=1e-3)
    assert result.ratio is not None
    assert result.ratio.value == pytest.approx(2.0, rel=1e-3)


def test_gpu_time_decides_if_every_window_has_it() -> None:
    result = run(gpu(reference_busy=0.75, untold=0))
    assert result.clock == "GPU time"
    assert result.candidate_ns == result.gpu_ns
    assert result.ratio is not None
    assert result.ratio.value == pytest.approx(3.0, rel=1e-3)
    assert result.gpu_ratio == result.ratio
    assert result.reference_ns is not None
    assert result.reference_ns.value == pytest.approx(1.5e4, rel=1e-3)
    by_wall = result.by_wall
    assert by_wall is not None
    assert result.wall_ratio == by_wall.ratio
    assert by_wall.ratio.is_bounded
    assert by_wall.ratio.value == pytest.approx(2.0, rel=1e-3)
    assert by_wall.candidate_ns.value == pytest.approx(1e4, rel=1e-3)
    assert by_wall.reference_ns.value == pytest.approx(2e4, rel=1e-3)


def test_one_window_without_gpu_time_leaves_the_verdict_to_wall_time() -> None:
    result = run(gpu(reference_busy=0.75, untold=1))
    assert result.clock == "wall time"
    assert (result.by_wall, result.gpu_ratio) == (None, None)
    assert result.wall_ratio == result.ratio


@pytest.mark.parametrize(("floor_ns", "launch_bound"), [(4.5e3, True), (3e3, False)])
def test_launch_bound_is_judged_by_gpu_time(floor_ns: float, launch_bound: bool) -> None:
    result = run(gpu(gpu_floor_ns=floor_ns))
    assert result.clock == "wall time"
    assert result.gpu_floor_ns == floor_ns
    assert result.launch_bound is launch_bound
    assert result.launch_share == pytest.approx(floor_ns / 5e3, rel=1e-3)


def test_windows_on_a_gpu_are_long_enough_for_wall_time() -> None:
    device = gpu()
    run(device)
    assert device.calls[0]["window_ns"] >= 10e6
    host = ScriptedSampler(steady(1e4, 0.001), steady(2e4, 0.001))
    run(host)
    assert host.calls[0]["window_ns"] == 1e6
    assert Plan(window_ns=5).window_ns_on(own_clock=True) == 5


def test_every_batch_records_the_times_of_all_clocks() -> None:
    result = run(gpu())
    own = result.samples.own
    assert own is not None
    ours = (own.device_ns, own.counter_ns, own.wall_ns, own.encode_ns)
    for times in (*ours, own.reference_device_ns, own.reference_wall_ns):
        assert times.shape == (result.pairs,)
    assert np.array_equal(own.wall_ns, result.samples.candidate_ns)
    assert result.samples.batch[-1] > 1


def test_without_a_reference_all_times_are_gpu_time() -> None:
    result = run(gpu(), reference=None)
    assert result.clock == "GPU time"
    assert result.gpu_ns == result.candidate_ns


def test_a_device_without_its_own_clock_has_one_time() -> None:
    result = run(ScriptedSampler(steady(1e4, 0.001), steady(2e4, 0.001)))
    assert (result.gpu_ns, result.clock, result.samples.own) == (None, None, None)
    assert result.work_ns == result.candidate_ns
    assert result.doubts == ()


def test_throughput_and_roofline_use_gpu_time() -> None:
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
def test_clocks_that_disagree_are_reported(counted: float, words: str | None) -> None:
    doubts = run(gpu(counted=counted)).doubts
    assert len(doubts) == (words is not None)
    assert all(words in doubt and "clocks disagree" in doubt for doubt in doubts)


def test_failed_counters_are_left_out() -> None:
    own = run(gpu(counted=0.9)).samples.own
    assert own is not None
    own.counter_ns[::2] = math.nan
    assert own.counter_deviation == pytest.approx(-0.1, rel=1e-6)
