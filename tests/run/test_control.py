"""The reference against itself."""

from __future__ import annotations

import pytest

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.measure import Mode, Plan, Sides, measure
from metalbench.result import Status
from metalbench.run import control
from metalbench.run.control import HostTimed, attempt_control
from metalbench.run.stages import Silent
from metalbench.run.trial import Trial
from metalbench.stats import Verdict

QUICK = Plan(seconds=0.05, warmup_ns=1_000_000)


def trial(name: str = "relu") -> Trial:
    entry = Library().entry(name)
    return Trial(entry, entry.kernel(), "float32", size="small", plan=QUICK)


def test_the_reference_is_both_sides_of_a_control() -> None:
    result = attempt_control(_core.open("cpu"), trial(), Silent())
    assert result.status is Status.CORRECT
    assert result.case.kernel == result.case.reference
    assert result.case.reference.endswith("mx.maximum")
    assert result.case.source == ""
    assert result.measurement is not None
    assert result.measurement.ratio is not None
    assert result.measurement.mode is Mode.WARM
    assert result.analysis is not None


def test_where_mlx_has_nothing_to_run_on_the_result_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from metalbench import reference

    monkeypatch.setattr(reference, "reference_beside", lambda *_: (None, ("no GPU here",)))
    result = attempt_control(_core.open("cpu"), trial(), Silent())
    assert result.status is Status.FAILED
    assert "no GPU here" in result.failures[0].message


def test_functions_are_timed_by_the_hosts_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0

    def run(cost_ns: int):
        def passes(count: int) -> None:
            nonlocal now
            now += cost_ns * count

        return passes

    monkeypatch.setattr(control, "perf_counter_ns", lambda: now)
    sides = Sides(run(100_000), run(300_000))
    measured = measure(HostTimed(), sides, QUICK, clock=lambda: now / 1e9)
    assert measured.verdict is Verdict.FASTER
    assert measured.ratio is not None
    assert measured.ratio.value == pytest.approx(3.0)
    assert measured.samples.floor_ns.size == 0
    assert not measured.launch_bound
