"""The core's decisions: what it times when, what it throws away, and when it stops."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from metalbench import _core


@dataclass
class Machine:
    """Tells times instead of taking any, and remembers what it was asked for."""

    candidate_ns: float = 1e5
    reference_ns: float = 2e5
    probe_ns: float = 5e4
    slowdown: Callable[[float], float] = lambda now: 1.0
    now: float = 0.0
    asked: list[tuple[str, int]] = field(default_factory=list)
    rested: list[float] = field(default_factory=list)

    def run(self, name: str, cost_ns: float, passes: int) -> float:
        self.asked.append((name, passes))
        time = cost_ns * passes * self.slowdown(self.now)
        self.now += time
        return time

    def rest(self, ns: float) -> None:
        self.rested.append(ns)
        self.now += ns

    def sample(self, *, paired: bool = True, probed: bool = True, **options) -> _core.Samples:
        return _core.sample_script(
            lambda passes: self.run("candidate", self.candidate_ns, passes),
            (lambda passes: self.run("reference", self.reference_ns, passes)) if paired else None,
            floor=lambda passes: self.run("floor", 1000.0, passes),
            probe=(lambda passes: self.run("probe", self.probe_ns, passes)) if probed else None,
            now_ns=lambda: self.now,
            rest=self.rest,
            **{"warmup_ns": 1e7, "time_limit_ns": 1e12, "max_pairs": 100} | options,
        )


def test_a_window_has_the_requested_length_and_counts_its_passes():
    samples = Machine().sample(window_ns=1e6)
    assert samples.candidate_window >= 10
    assert 1e6 <= samples.candidate_window * 1e5 <= 2e6
    assert 1e6 <= samples.reference_window * 2e5 <= 2e6
    np.testing.assert_allclose(samples.candidate_ns, 1e5)
    np.testing.assert_allclose(samples.reference_ns, 2e5)
    np.testing.assert_allclose(samples.floor_ns, 1000)


def test_a_window_has_a_thousand_ticks_of_a_coarse_clock():
    samples = Machine().sample(window_ns=1e5, tick_ns=5000.0)
    assert samples.candidate_window * 1e5 >= 5e6


def test_no_window_is_grown_beyond_the_longest():
    machine = Machine(candidate_ns=7e7)
    assert machine.sample(window_ns=1e9, max_window_ns=5e7).candidate_window == 1


def test_window_lengths_of_an_earlier_batch_are_reused():
    machine = Machine()
    samples = machine.sample(candidate_window=3, reference_window=5, probed=False, warmup_ns=0)
    assert set(machine.asked) == {("candidate", 3), ("reference", 5)}
    assert (samples.candidate_window, samples.reference_window) == (3, 5)
    assert samples.floor_ns.size == 0
    assert samples.warmup_ns == 0


def test_the_time_limit_counts_pairs_only():
    samples = Machine().sample(warmup_ns=5e8, time_limit_ns=1e8, min_pairs=1)
    assert samples.warmup_ns >= 5e8
    assert samples.candidate_ns.size > 16


def test_the_order_within_pairs_is_random_and_recorded():
    machine = Machine()
    samples = machine.sample(probed=False, seed=7)
    window = {"candidate": samples.candidate_window, "reference": samples.reference_window}
    timed = [name for name, passes in machine.asked if window.get(name) == passes][-200:]
    pairs = [timed[2 * i] == "candidate" for i in range(100)]
    assert pairs == list(samples.candidate_first)
    assert 30 <= sum(pairs) <= 70
    again = Machine().sample(probed=False, seed=7)
    assert list(again.candidate_first) == pairs
    assert list(Machine().sample(probed=False, seed=8).candidate_first) != pairs


def test_without_a_reference_there_are_samples_without_pairs():
    samples = Machine().sample(paired=False)
    assert samples.candidate_ns.size == 100
    assert samples.reference_ns.size == 0


def test_no_pair_starts_after_the_time_limit_once_there_are_enough():
    samples = Machine().sample(time_limit_ns=1e8, min_pairs=16, max_pairs=10_000)
    assert 16 <= samples.candidate_ns.size < 60


def test_a_slow_kernel_gets_its_least_pairs_in_four_times_the_limit():
    samples = Machine(candidate_ns=1e8).sample(time_limit_ns=1e7, min_pairs=16)
    assert samples.candidate_ns.size == 7


def test_warming_up_ends_when_the_times_have_settled():
    def cooling(now: float) -> float:
        return 1.0 + 2.0 * np.exp(-now / 1e8)

    samples = Machine(slowdown=cooling).sample(warmup_ns=2e8, probed=False)
    assert samples.candidate_ns[0] < 1.05e5


def test_warming_up_does_not_wait_for_noise_to_settle():
    random = np.random.default_rng(0)
    samples = Machine(slowdown=lambda now: float(random.lognormal(0.0, 0.1))).sample(
        warmup_ns=1e8, paired=False, probed=False
    )
    # The longest warm-up is five times as long.
    assert samples.warmup_ns < 3e8


def test_a_pass_longer_than_the_warm_up_runs_twice_before_the_pairs():
    machine = Machine(reference_ns=3e9)
    machine.sample(warmup_ns=2e8, probed=False, max_pairs=4)
    assert machine.asked.count(("reference", 1)) == 2 + 4


@pytest.mark.parametrize("side", ["candidate", "reference"])
def test_a_compiling_first_pass_does_not_determine_the_window(side):
    machine = Machine()
    plain = machine.run

    def compiling(name: str, cost_ns: float, passes: int) -> float:
        first = name == side and not any(name == asked for asked, _ in machine.asked)
        return plain(name, 1e9 if first else cost_ns, passes)

    machine.run = compiling  # type: ignore[method-assign]
    samples = machine.sample(window_ns=1e6, warmup_ns=2e8, probed=False)
    assert samples.candidate_window >= 10
    assert samples.reference_window >= 5


def test_a_temporary_clock_drop_discards_pairs_and_keeps_the_verdict():
    def throttled(now: float) -> float:
        return 1.2 if 2e8 < now < 3e8 else 1.0

    machine = Machine(slowdown=throttled)
    samples = machine.sample(probe_every=10)
    assert not samples.throttled
    assert samples.discarded > 0
    assert machine.rested == [2e9]
    assert samples.candidate_ns.size == samples.reference_ns.size == 100
    np.testing.assert_allclose(samples.candidate_ns, 1e5)


def test_a_lasting_clock_drop_ends_after_the_retries():
    machine = Machine(slowdown=lambda now: 1.0 if now < 2e8 else 1.2)
    samples = machine.sample(retries=3)
    assert samples.throttled
    assert (samples.retries, len(machine.rested)) == (3, 3)
    np.testing.assert_allclose(samples.candidate_ns, 1e5)
    assert samples.candidate_ns.size == samples.candidate_first.size < 100


def test_samples_before_the_clock_rose_are_discarded():
    samples = Machine(slowdown=lambda now: 1.2 if now < 2e8 else 1.0).sample()
    assert samples.discarded > 0
    np.testing.assert_allclose(samples.candidate_ns, 1e5)


def test_the_best_probe_of_an_earlier_batch_is_the_reference():
    first = Machine().sample()
    later = Machine(slowdown=lambda now: 1.2).sample(best_probe_ns=first.best_probe_ns)
    assert later.throttled
    assert later.candidate_ns.size == 0


def test_probes_can_be_watched_without_being_obeyed():
    samples = Machine(slowdown=lambda now: 1.0 if now < 2e8 else 1.2).sample(probe_drop=0.0)
    assert (samples.discarded, samples.throttled) == (0, False)
    assert samples.probe_ns.max() > 1.1 * samples.probe_ns.min()


def test_long_windows_measure_the_cost_of_a_launch():
    machine = Machine()
    plain = machine.run

    def with_overhead(name: str, cost_ns: float, passes: int) -> float:
        machine.now += 2e5
        return plain(name, cost_ns, passes) + 2e5

    machine.run = with_overhead  # type: ignore[method-assign]
    samples = machine.sample(long_windows=5)
    k = samples.candidate_window
    np.testing.assert_allclose(samples.candidate_ns, 1e5 + 2e5 / k)
    np.testing.assert_allclose(samples.long_ns, 1e5 + 2e5 / (4 * k))


def test_long_windows_are_of_both_sides_and_the_reference_has_its_own():
    machine = Machine()
    samples = machine.sample(long_windows=3, probed=False)
    last = machine.asked[-6:]
    k, n = 4 * samples.candidate_window, 4 * samples.reference_window
    assert last == [("candidate", k), ("reference", n)] * 3
    np.testing.assert_allclose(samples.reference_long_ns, 2e5)
    assert Machine().sample(long_windows=3, paired=False).reference_long_ns.size == 0


def test_the_clock_is_probed_directly_after_each_long_window():
    machine = Machine()
    samples = machine.sample(long_windows=3)
    k, n = 4 * samples.candidate_window, 4 * samples.reference_window
    assert (
        machine.asked[-12:]
        == [
            ("candidate", k),
            ("probe", 1),
            ("reference", n),
            ("probe", 1),
        ]
        * 3
    )
    np.testing.assert_allclose(samples.probe_after_candidate_ns, [5e4] * 3)
    np.testing.assert_allclose(samples.probe_after_reference_ns, [5e4] * 3)
    assert Machine().sample(long_windows=3, paired=False).probe_after_reference_ns.size == 0
    assert Machine().sample(long_windows=3, probed=False).probe_after_candidate_ns.size == 0


@pytest.mark.parametrize("by_wall", [False, True])
def test_both_sides_have_times_of_both_clocks(by_wall: bool):
    def side(device_ns: float, wall_ns: float):
        return lambda passes: (device_ns * passes, wall_ns * passes)

    samples = _core.sample_script(
        side(1e2, 1e3),
        side(math.nan, 2e3) if by_wall else side(4e2, 2e3),
        floor=side(1, 2),
        by_wall=by_wall,
        now_ns=lambda: 0.0,
        rest=lambda ns: None,
        window_ns=1e6,
        max_pairs=5,
        warmup_ns=0,
        long_windows=2,
    )
    assert samples.clock == ("wall" if by_wall else "device")
    assert samples.candidate_window == pytest.approx(1e3 if by_wall else 1e4, rel=0.25)
    expected = {
        "device_ns": 1e2,
        "wall_ns": 1e3,
        "candidate_ns": 1e3 if by_wall else 1e2,
        "reference_ns": 2e3 if by_wall else 4e2,
        "reference_wall_ns": 2e3,
        "reference_device_ns": math.nan if by_wall else 4e2,
        "reference_long_device_ns": math.nan if by_wall else 4e2,
        "floor_ns": 2 if by_wall else 1,
        "floor_device_ns": 1,
        "long_ns": 1e3 if by_wall else 1e2,
        "long_device_ns": 1e2,
    }
    for name, ns in expected.items():
        times = getattr(samples, name)
        assert times.size > 1
        np.testing.assert_allclose(times, ns, err_msg=name)


def test_a_pass_of_several_repetitions_is_counted_as_such():
    samples = Machine().sample(candidate_repeats=4, long_windows=2)
    np.testing.assert_allclose(samples.candidate_ns, 1e5 / 4)
    np.testing.assert_allclose(samples.floor_ns, 1000 / 4)
    np.testing.assert_allclose(samples.reference_ns, 2e5)
    both = Machine().sample(candidate_repeats=4, reference_repeats=2, long_windows=2)
    np.testing.assert_allclose(both.reference_ns, 2e5 / 2)
    np.testing.assert_allclose(both.reference_long_ns, 2e5 / 2)


def test_progress_counts_pairs():
    told: list[tuple[int, int]] = []
    Machine().sample(max_pairs=12, progress=lambda done, total: told.append((done, total)))
    assert told == [(n, 12) for n in range(1, 13)]


def test_an_exception_of_a_source_is_passed_on():
    def broken(passes: int) -> float:
        raise RuntimeError("no device")

    with pytest.raises(RuntimeError, match="no device"):
        _core.sample_script(broken, now_ns=lambda: 0.0, rest=lambda ns: None)


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="no option pairs"):
        Machine().sample(pairs=3)
