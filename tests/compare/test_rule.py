"""Rules for records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_results import correct, measurement, without_interval
from scripted_gpu import ScriptedGpu

from metalbench import _core
from metalbench.compare import Decision, Ruling, enter, leaderboard, submit
from metalbench.compare.leaderboard import extract_header, restore_kernel
from metalbench.errors import DeclarationError
from metalbench.measure.measurement import TimingMode
from metalbench.run.trial import Trial, describe_case, device_facts
from metalbench.stats import Interval, Verdict, assess
from metalbench.store.environment import environment
from metalbench.store.result import Result, Status
from metalbench.store.store import Store

from .conftest import KERNEL, QUICK, TASK

MakeTrial = Callable[..., Trial]
Submit = Callable[[Trial], Ruling]


@pytest.fixture
def device() -> _core.Device:
    return _core.open("cpu")


@pytest.fixture
def brought(store: Store) -> Submit:
    """Tries a kernel and lets it enter, on a GPU where what comes is twice as fast as what was."""
    gpu: Any = ScriptedGpu()
    return lambda trial: submit(gpu, store, trial, origin="test", plan=QUICK)


def kept(device: _core.Device, store: Store, trial: Trial, result: Result | None = None) -> int:
    """A result of the trial that was never measured, in the store."""
    made = replace(result or correct(), case=describe_case(trial, trial.entry.task, device))
    run = store.begin_run({}, device_facts(device), environment())
    return store.record(run, made)


def told(*verdicts: Verdict) -> Callable[..., Any]:
    """A head-to-head that says these, one after the other."""
    left: Iterator[Verdict] = iter(verdicts)
    return lambda *_: (None, replace(measurement(reference=1.3), verdict=next(left)))


def test_a_first_record_is_correct_and_a_faster_one_takes_its_place(
    brought: Submit, store: Store, trial: MakeTrial
) -> None:
    first = brought(trial(400))
    assert (first.decision, first.gains) == (Decision.FIRST, ()), first.why
    second = brought(trial(4))
    assert (second.decision, second.verdict) == (Decision.NEW, Verdict.FASTER), second.why
    assert [gain.value for gain in second.gains] == pytest.approx([2.0, 2.0])
    (record,) = store.records()
    assert record.place.device_chip == "m4"
    assert record.entry.tunables == {"WORK": 4}
    assert record.gains == second.gains
    assert record.origin == "test"
    assert [each.entry.tunables["WORK"] for each in store.records_of(record.place)] == [4, 400]


def test_a_wrong_kernel_is_refused(brought: Submit, store: Store, trial: MakeTrial) -> None:
    ruling = brought(trial(4, KERNEL.replace("double_of(x[i])", "3 * x[i]")))
    assert (ruling.decision, ruling.why) == (Decision.REFUSED, "the kernel is incorrect")
    assert store.records() == []


def test_the_record_is_not_measured_against_itself(
    device: _core.Device, store: Store, trial: MakeTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaderboard, "head_to_head", told())
    same = trial(4)
    rulings = [
        enter(device, store, same, kept(device, store, same), origin="test") for _ in range(3)
    ]
    assert [each.decision for each in rulings] == [Decision.FIRST, *[Decision.STANDS] * 2]
    assert len(store.records_of(rulings[0].place)) == 1


@pytest.mark.parametrize(
    ("verdicts", "decision"),
    [
        ((Verdict.FASTER, Verdict.FASTER), Decision.NEW),
        ((Verdict.FASTER, Verdict.SAME), Decision.STANDS),
        ((Verdict.FASTER, Verdict.INCONCLUSIVE), Decision.STANDS),
        ((Verdict.FASTER, Verdict.SLOWER), Decision.STANDS),
        ((Verdict.SAME,), Decision.STANDS),
        ((Verdict.INCONCLUSIVE,), Decision.STANDS),
        ((Verdict.THROTTLED,), Decision.STANDS),
    ],
)
def test_a_record_is_replaced_after_two_faster_verdicts(
    device: _core.Device,
    store: Store,
    trial: MakeTrial,
    monkeypatch: pytest.MonkeyPatch,
    verdicts: tuple[Verdict, ...],
    decision: Decision,
) -> None:
    old, new = trial(5), trial(4)
    # Of a time that is a tenth of the newcomer's, which plays no part.
    lucky = replace(correct(), measurement=measurement(kernel_ns=1234.0))
    enter(device, store, old, kept(device, store, old, lucky), origin="test")
    monkeypatch.setattr(leaderboard, "head_to_head", told(*verdicts))
    ruling = enter(device, store, new, kept(device, store, new), origin="test")
    assert ruling.decision is decision
    assert len(ruling.gains) == len(verdicts)
    (record,) = store.records()
    assert record.entry.tunables == {"WORK": 4 if decision is Decision.NEW else 5}


def test_noise_does_not_win(
    device: _core.Device, store: Store, trial: MakeTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many kernels that are as fast as the record, each timed with independent noise."""
    old, new = trial(5), trial(4)
    enter(device, store, old, kept(device, store, old), origin="test")
    number = kept(device, store, new)
    # Its import takes more than a second, and each worker process imports this file.
    from scipy.signal import lfilter

    random = np.random.default_rng(3)
    once = []

    def noisy(*_: Any) -> Any:
        # Of one side alone, and lasting: the noise that verdicts stand worst.
        logarithms = lfilter([0.05], [1.0, -0.9], random.standard_normal(90))[50:]
        judgement = assess(np.exp(logarithms), np.ones(40))
        once.append(judgement.verdict)
        return None, replace(measurement(), verdict=judgement.verdict, ratio=judgement.ratio)

    monkeypatch.setattr(leaderboard, "head_to_head", noisy)
    monkeypatch.setattr(Store, "keep_record", lambda *_: True)
    rulings = [enter(device, store, new, number, origin="test") for _ in range(80)]
    # Some are lucky once.
    assert once.count(Verdict.FASTER) > 0
    assert len(once) == 80 + once.count(Verdict.FASTER)
    assert not any(ruling.is_accepted for ruling in rulings)


def test_both_pairings_have_different_seeds(
    device: _core.Device, store: Store, trial: MakeTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = []

    def heard(_: Any, contest: Any, *__: Any) -> Any:
        seeds.append(contest.plan.seed)
        return told(Verdict.FASTER)()

    monkeypatch.setattr(leaderboard, "head_to_head", heard)
    for work in (5, 4):
        each = trial(work, seed=7)
        enter(device, store, each, kept(device, store, each), origin="test")
    assert len(set(seeds)) == 2
    # What the trial itself was verified and timed with.
    assert not {7, 8, 9} & set(seeds)


def worst(result: Result) -> Result:
    assert result.measurement is not None
    throttled = replace(result.measurement, verdict=Verdict.THROTTLED)
    return replace(result, measurement=throttled)


def cold(result: Result) -> Result:
    assert result.measurement is not None
    return replace(result, measurement=replace(result.measurement, mode=TimingMode.COLD))


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (without_interval(correct()), "no interval"),
        (worst(correct()), "clock stayed low"),
        (cold(correct()), "these were cold"),
        (replace(correct(), state={"metal_tools": ["MTL_HUD_ENABLED"]}), "MTL_HUD_ENABLED was set"),
        (replace(correct(), status=Status.FAILED, measurement=None), "the kernel has failed"),
    ],
)
def test_enter_refuses_results_that_cannot_be_records(
    device: _core.Device, store: Store, trial: MakeTrial, result: Result, why: str
) -> None:
    one = trial(4)
    ruling = enter(device, store, one, kept(device, store, one, result), origin="test")
    assert ruling.decision is Decision.REFUSED
    assert why in ruling.why
    assert not ruling.is_accepted
    assert store.records() == []


def test_enter_refuses_a_result_of_another_kernel(
    device: _core.Device, store: Store, trial: MakeTrial
) -> None:
    number = kept(device, store, trial(4))
    for other, what in ((trial(5), "kernel"), (trial(4, size="small"), "task")):
        with pytest.raises(DeclarationError, match=f"result {number} is of another {what}"):
            enter(device, store, other, number, origin="test")
    assert store.records() == []


def test_a_record_that_is_wrong_now_is_replaced(
    device: _core.Device, store: Store, trial: MakeTrial, folder: Path
) -> None:
    old = trial(4)
    enter(device, store, old, kept(device, store, old), origin="test")
    del old.entry.__dict__["task"]
    (folder / "doubled.py").write_text(TASK.replace("FACTOR", "3"))
    new = trial(4, KERNEL.replace("double_of(x[i])", "3 * x[i]"))
    ruling = enter(device, store, new, kept(device, store, new), origin="test", plan=QUICK)
    assert ruling.decision is Decision.FIRST
    assert ruling.why.startswith("the one before is wrong by now: [doubled] y: expected")
    (record,) = store.records()
    assert (record.source, record.gains) == (new.kernel.text, ())


def test_a_record_that_changed_meanwhile_is_compared_again(
    device: _core.Device, store: Store, trial: MakeTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other, slow = trial(4), trial(3), trial(5)
    enter(device, store, slow, kept(device, store, slow), origin="test")
    numbers = {each: kept(device, store, trial(each)) for each in (4, 3)}
    met = []

    def meanwhile(device: Any, contest: Any, *_: Any) -> Any:
        met.append(contest.before.tunables["WORK"][0])
        if len(met) == 1:
            enter(device, store, other, numbers[3], origin="test")
        return told(Verdict.FASTER)()

    monkeypatch.setattr(leaderboard, "head_to_head", meanwhile)
    ruling = enter(device, store, one, numbers[4], origin="test")
    assert met == [5, 5, 5, 5, 3, 3]
    assert ruling.decision is Decision.NEW
    assert [each.entry.tunables["WORK"] for each in store.records_of(ruling.place)] == [4, 3, 5]


def test_a_kernel_is_restored_from_its_text_with_all_headers(trial: MakeTrial) -> None:
    kernel = trial(4).kernel
    assert "another" in kernel.text
    again = restore_kernel("doubled", "doubled.metal", extract_header(kernel.source), kernel.text)
    assert (again.dispatches, again.tunables) == (kernel.dispatches, kernel.tunables)
    assert again.hash == kernel.hash


def test_gains_are_intervals_of_the_pairs() -> None:
    measured = measurement(reference=1.3)
    twice = leaderboard.Pairings((measured, measured))
    assert twice.gains == (measured.ratio, measured.ratio)
    assert isinstance(twice.gains[0], Interval)
    assert twice.is_confirmed
    assert not leaderboard.Pairings((measured,)).is_confirmed
