"""Trials that the system disturbs: begun again, a few times, and told."""

from __future__ import annotations

import pytest

from metalbench import _core, verify
from metalbench.errors import Disturbed
from metalbench.kernel.library import Library
from metalbench.measure import Plan
from metalbench.result import Result, Status
from metalbench.run.attempt import attempt
from metalbench.run.disturbance import RERUNS
from metalbench.run.stages import Silent
from metalbench.run.trial import Trial
from metalbench.verify import Finding, Kind, Report
from metalbench.verify.examine import Examiner

VICTIM = "[relu] Discarded (victim of GPU error/recovery)"


class Disturbance:
    """A verification that the system ends so many times; then the kernel is found to be wrong."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.calls = 0

    def __call__(self, *_: object, **__: object) -> Report:
        self.calls += 1
        self.left -= 1
        if self.left >= 0:
            raise Disturbed(VICTIM)
        return Report((Finding(Kind.RACE, "found", "small", 0),))


def tried(monkeypatch: pytest.MonkeyPatch, disturbance: Disturbance) -> Result:
    monkeypatch.setattr(verify, "verify", disturbance)
    entry = Library().entry("relu")
    trial = Trial(entry, entry.kernel(), "float32", size="small", plan=Plan(seconds=0.05))
    return attempt(_core.open("cpu"), trial, Silent())


@pytest.mark.parametrize("times", range(RERUNS + 1))
def test_a_disturbed_trial_is_begun_again_and_told(
    monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    disturbance = Disturbance(times)
    result = tried(monkeypatch, disturbance)
    assert disturbance.calls == times + 1
    assert [each.kind for each in result.failures] == ["RACE"]
    assert len(result.notes) == times
    assert all("all was run again" in note and VICTIM in note for note in result.notes)


def test_what_is_always_disturbed_fails_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    disturbance = Disturbance(1000)
    result = tried(monkeypatch, disturbance)
    assert disturbance.calls == RERUNS + 1
    assert result.status is Status.FAILED
    assert [(each.kind, each.message) for each in result.failures] == [("Disturbed", VICTIM)]
    assert len(result.notes) == RERUNS


def test_a_disturbance_is_no_finding_against_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def disturbed(_: Examiner) -> None:
        raise Disturbed(VICTIM)

    monkeypatch.setattr(Examiner, "rerun", disturbed)
    entry = Library().entry("relu")
    with pytest.raises(Disturbed, match="victim"):
        verify.verify(_core.open("cpu"), entry.kernel(), entry.task, sizes=["small"])
