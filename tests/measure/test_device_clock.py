"""Throttling, what a window costs, and inputs that change: through the core's own loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scripted_device import ScriptedDevice

from metalbench.measure.measurement import (
    EQUAL_CLOCKS,
    Measurement,
    Plan,
    StopReason,
    TimingMode,
    clock_ratio,
    warn_of_unequal_clocks,
)
from metalbench.measure.sampling import Sides, measure
from metalbench.stats import Cause, Interval, Verdict

Lower = Callable[[float], bool]
PLAN = Plan(seconds=2.0, warmup_ns=10_000_000, cool_ns=50_000_000, window_ns=1_000_000)
OBEYING = replace(PLAN, obeys_probe=True)


def run(device: ScriptedDevice, plan: Plan = PLAN, **options: object) -> Measurement:
    return measure(device, device.sides(**options), plan, clock=device.clock)


def test_probes_show_a_steady_clock() -> None:
    result = run(ScriptedDevice())
    assert result.steadiness.spread == pytest.approx(0.0, abs=1e-9)
    assert not result.steadiness.throttled
    assert result.samples.probe_ns.size > 2
    assert result.verdict is Verdict.FASTER


@pytest.mark.parametrize("lower", [lambda now: now >= 5e7, lambda now: now < 1.5e8])
def test_a_lower_clock_of_the_gpu_is_a_remark_and_keeps_the_verdict(lower: Lower) -> None:
    device = ScriptedDevice(slowdown=lambda now: 1.25 if lower(now) else 1.0)
    result = run(device)
    assert result.verdict is Verdict.FASTER
    assert result.stopped is not StopReason.THROTTLED
    assert device.rested == []
    assert result.steadiness.discarded == 0
    assert not result.steadiness.throttled
    assert result.steadiness.spread == pytest.approx(0.25)
    (remark,) = result.remarks
    assert "up to 25% longer" in remark
    assert remark in result.doubts


@pytest.mark.parametrize("slower", [1.0, 1.02])
def test_a_small_change_of_the_gpus_clock_is_not_a_remark(slower: float) -> None:
    device = ScriptedDevice(slowdown=lambda now: slower if now > 5e7 else 1.0)
    assert run(device).remarks == ()


def test_a_lasting_clock_drop_is_throttled_if_the_probes_are_obeyed() -> None:
    device = ScriptedDevice(slowdown=lambda now: 1.0 if now < 5e7 else 1.25)
    result = run(device, OBEYING)
    assert result.verdict is Verdict.THROTTLED
    assert result.stopped is StopReason.THROTTLED
    assert result.judgement is not None
    (reason,) = result.judgement.reasons
    assert reason.cause is Cause.THROTTLED
    assert "25%" in str(reason)
    assert "3 rests" in str(reason)
    assert device.rested == [5e7] * 3
    assert result.steadiness.retries == 3
    assert result.remarks == ()
    np.testing.assert_allclose(result.samples.candidate_ns, 1e5)


def test_throttling_from_the_first_pair_keeps_samples() -> None:
    device = ScriptedDevice()
    # Only the probes before the first pair are fast.
    device.slowdown = lambda now: 1.0 if device.probed <= 3 else 1.5
    result = run(device, OBEYING)
    assert result.verdict is Verdict.THROTTLED
    assert result.pairs == PLAN.min_pairs
    assert not result.samples.long_ns.size


def test_a_throttled_clock_is_reported_without_a_reference() -> None:
    device = ScriptedDevice(slowdown=lambda now: 1.0 if now < 5e7 else 1.25)
    alone = Sides(device.sides().candidate)
    result = measure(device, alone, OBEYING, clock=device.clock)
    assert (result.verdict, result.ratio, result.judgement) == (Verdict.THROTTLED, None, None)


def test_retries_are_counted_for_the_whole_measurement() -> None:
    def slowdown(now: float) -> float:
        return 1.2 if 3e7 < now < 6e7 or 2e8 < now < 2.4e8 else 1.0

    device = ScriptedDevice(slowdown=slowdown)
    result = run(device, replace(OBEYING, seconds=2 * OBEYING.seconds))
    assert result.verdict is Verdict.FASTER
    assert result.steadiness.retries == len(device.rested) >= 2
    left = [plan["retries"] for plan in device.plans if "retries" in plan]
    assert left[0] == 3
    assert left[-1] < 3
    assert result.steadiness.discarded > 0


def test_samples_before_the_clock_rises_are_discarded() -> None:
    device = ScriptedDevice(slowdown=lambda now: 1.2 if now < 1.5e8 else 1.0)
    result = run(device, OBEYING)
    assert result.steadiness.discarded > 0
    np.testing.assert_allclose(result.samples.candidate_ns, 1e5)


def test_disturbed_probes_are_only_recorded_on_shared_clocks() -> None:
    device = ScriptedDevice(own_clock=False, slowdown=lambda now: 1.2 if now > 1e8 else 1.0)
    result = run(device)
    assert result.verdict is Verdict.FASTER
    assert device.rested == []
    assert result.steadiness.discarded == 0
    assert result.steadiness.spread == pytest.approx(0.2, rel=1e-6)
    assert result.remarks == ()


@pytest.mark.parametrize(("cost_ns", "has_doubt"), [(0.0, False), (4e4, False), (3e5, True)])
def test_the_cost_of_a_window_is_a_doubt_if_it_is_large(cost_ns: float, has_doubt: bool) -> None:
    device = ScriptedDevice(window_cost_ns=cost_ns)
    result = run(device)
    assert result.slope is not None
    assert result.slope.pass_ns == pytest.approx(1e5)
    window = cost_ns + 1e5 * result.samples.candidate_window
    assert result.slope.share == pytest.approx(cost_ns / window, abs=1e-9)
    assert bool(result.doubts) is has_doubt
    if has_doubt:
        assert f"{100 * cost_ns / window:.0f} % of the kernel's time" in result.doubts[0]


def test_long_windows_of_a_slow_kernel_are_left_out() -> None:
    result = run(ScriptedDevice(candidate_ns=5e7, reference_ns=5e7))
    assert result.slope is None


def test_inputs_change_before_every_batch_except_the_first() -> None:
    device, changed = ScriptedDevice(), []
    run(device, refresh=changed.append)
    *batches, long = device.plans
    assert long["long_windows"]
    assert changed == list(range(1, len(batches)))
    assert [plan["warmup_ns"] for plan in device.plans[:2]] == [10_000_000, 500_000]


def test_every_batch_has_windows_of_the_same_length() -> None:
    # A window that was calibrated again would have twice the passes.
    device = ScriptedDevice(slowdown=lambda now: 1.0 if now < 5e7 else 0.5, own_clock=False)
    result = run(device)
    asked = [(plan["candidate_window"], plan["reference_window"]) for plan in device.plans]
    assert asked[0] == (0, 0)
    window = result.samples.candidate_window, result.samples.reference_window
    assert set(asked[1:]) == {window}


def test_a_pass_over_copies_counts_each() -> None:
    device = ScriptedDevice(candidate_ns=8e5)
    result = run(device, Plan(mode=TimingMode.COLD, warmup_ns=10_000_000), repeats=8)
    assert result.candidate_ns.value == pytest.approx(1e5)
    assert result.mode is TimingMode.COLD


def test_two_clocks_of_the_machine_are_two_modes() -> None:
    device = ScriptedDevice(own_clock=False, slowdown=lambda now: 1.0 + 0.3 * (int(now / 1e7) % 2))
    result = run(device)
    assert [mode.share > 0.3 for mode in result.modes] == [True, True]
    ratio = np.exp(result.modes[1].value - result.modes[0].value)
    assert ratio == pytest.approx(1.3, rel=0.01)


def after(ratio: float, count: int = 16) -> Interval | None:
    """The clock after the candidate's windows, `ratio` times as high as after the reference's."""
    noise = np.random.default_rng(0).normal(1, 0.002, count)
    return clock_ratio(np.full(count, 1e5), ratio * 1e5 * noise)


@pytest.mark.parametrize("ratio", [0.5, 0.9, 1.0, 1.01, 1.1, 2.0])
def test_the_clocks_of_two_sides_are_compared_by_a_probe_after_each(ratio: float) -> None:
    found = after(ratio)
    assert found is not None
    assert found.value == pytest.approx(ratio, rel=0.002)
    said = warn_of_unequal_clocks(found)
    assert (said is not None) == (abs(ratio - 1) > EQUAL_CLOCKS)
    if said is not None:
        assert ("directly after MLX's windows" in said) == (ratio > 1)
        assert f"takes {max(ratio, 1 / ratio) - 1:.0%} longer" in said


def test_too_few_probes_give_no_warning() -> None:
    few = after(1.5, 3)
    assert few is not None
    assert warn_of_unequal_clocks(few) is None
    assert clock_ratio(np.array([]), np.array([])) is None
    assert clock_ratio(np.ones(3), np.array([])) is None
