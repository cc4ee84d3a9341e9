"""Elsewhere comes only what is right here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from example_results import correct

from metalbench.compare.head_to_head import Match, MatchOutcome
from metalbench.errors import DeclarationError
from metalbench.kernel.library import Library
from metalbench.run.trial import Observer, Silent, Trial
from metalbench.sandbox.resources import Limits
from metalbench.store.result import Case, DeviceFacts, Failure, Result, Status
from metalbench.workers.verify_locally import LocallyVerifiedWorkers

GPU = DeviceFacts("metal", "Apple M4 Max", "m4_max", 40)


class RemoteWorkers:
    """Another machine to which everything is right."""

    name = "ssh://mac"

    def __init__(self) -> None:
        self.tried: list[str] = []
        self.prepared: list[str] = []

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        self.tried.append(trial.entry.name)
        self.prepared += [each.entry.name for each in following]
        return replace(correct(trial.entry.name), device=device)

    def play(self, device: DeviceFacts, match: Match, observer: Observer) -> MatchOutcome:
        self.tried.append(match.names[1])
        return MatchOutcome(device)


class Workers:
    """Workers that verify here, with the findings that a test defines."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._found = found
        self.verified: list[tuple[str, str | None, bool]] = []

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        assert device.kind == "cpu"
        self.verified.append((trial.entry.name, trial.size, trial.timed))
        observer.stage_detail("size small")
        kind = self._found.get(trial.entry.name, "")
        if isinstance(kind, Exception):
            raise kind
        failures = (Failure("compile", kind, "so it is"),) if kind else ()
        status = Status.FAILED if failures else Status.CORRECT
        return replace(correct(trial.entry.name), status=status, failures=failures)

    def close(self) -> None:
        pass


class Heard(Silent):
    def __init__(self) -> None:
        self.details: list[str] = []

    def stage_detail(self, detail: str) -> None:
        self.details.append(detail)


@pytest.fixture
def remote_workers() -> RemoteWorkers:
    return RemoteWorkers()


@pytest.fixture
def verified(remote_workers: RemoteWorkers, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def make(**found: Any) -> tuple[LocallyVerifiedWorkers, Workers]:
        workers = Workers(found)
        monkeypatch.setattr("metalbench.workers.verify_locally.Workers", lambda *_: workers)
        return LocallyVerifiedWorkers(remote_workers, Limits()), workers  # type: ignore[arg-type]

    return make


def trial(kernels: Path, name: str, size: str | None = None) -> Trial:
    entry = Library([kernels]).entry(name)
    return Trial(entry, entry.kernel(), "float32", size)


def test_a_correct_kernel_is_sent_after_verification_without_timing(
    verified: Any, remote_workers: RemoteWorkers, kernels: Path
) -> None:
    site, workers = verified()
    heard = Heard()
    for _ in range(2):
        result = site.attempt(GPU, trial(kernels, "twice", "large"), (), heard)
        assert (result.device, result.notes) == (GPU, correct().notes)
    assert workers.verified == [("twice", None, False)]
    assert heard.details == ["here, size small"]
    assert remote_workers.tried == ["twice", "twice"]


def test_a_wrong_kernel_is_not_sent_and_notes_the_place_of_the_finding(
    verified: Any, remote_workers: RemoteWorkers, kernels: Path
) -> None:
    site, _ = verified(thrice="CompileError")
    result = site.attempt(GPU, trial(kernels, "thrice"), (), Silent())
    assert (result.status, result.device) == (Status.FAILED, GPU)
    assert "was not sent to ssh://mac" in result.notes[-1]
    assert remote_workers.tried == []


def test_a_kernel_that_the_cpu_device_cannot_run_is_sent_with_a_note(
    verified: Any, remote_workers: RemoteWorkers, kernels: Path
) -> None:
    site, _ = verified(twice="Unsupported")
    result = site.attempt(GPU, trial(kernels, "twice"), (), Silent())
    assert result.notes[0] == "not verified here before it was sent to ssh://mac: so it is"
    assert remote_workers.tried == ["twice"]


def test_only_correct_kernels_are_prepared_there(
    verified: Any, remote_workers: RemoteWorkers, kernels: Path
) -> None:
    site, workers = verified(thrice="WRONG_RESULT", hangs=DeclarationError("the task is wrong"))
    heard = Heard()
    twice, thrice, hangs = (trial(kernels, name) for name in ("twice", "thrice", "hangs"))
    site.attempt(GPU, replace(twice, seed=1), [thrice], heard)
    assert remote_workers.prepared == []
    assert heard.details[-1] == "here, size small, thrice, which comes next"
    assert site.attempt(GPU, thrice, [hangs], Silent()).status is Status.FAILED
    site.attempt(GPU, twice, [hangs], Silent())
    site.attempt(GPU, thrice, [twice], Silent())
    site.attempt(GPU, twice, [twice], Silent())
    assert remote_workers.prepared == ["twice"]
    # thrice was looked at ahead of its turn once, and for its second turn again.
    assert [name for name, *_ in workers.verified] == ["twice", "thrice", "hangs", "thrice"]
    with pytest.raises(DeclarationError, match="the task is wrong"):
        site.attempt(GPU, hangs, (), Silent())


@pytest.mark.parametrize("knows_before", [True, False])
def test_kernels_of_a_match_are_verified_before_it_is_played(
    knows_before: bool, verified: Any, remote_workers: RemoteWorkers, kernels: Path
) -> None:
    site, _ = verified(twice="CompileError")
    one = trial(kernels, "twice")
    match = Match(one.entry, one.kernel, one.kernel, ("old", "new"), knows_before=knows_before)
    outcome = site.play(GPU, match, Silent())
    assert outcome.wrong == ("new" if knows_before else "old")
    assert outcome.failure is not None
    # As matches call it.
    assert outcome.failure.kind == "COMPILE_ERROR"
    assert remote_workers.tried == []


def test_an_unreadable_file_is_reported_with_its_case(verified: Any, kernels: Path) -> None:
    site, workers = verified(twice="DeclarationError")
    entry = Library([kernels]).entry("twice")
    broken = Trial.unreadable(entry, DeclarationError("no header"))
    assert isinstance(site.attempt(GPU, broken, (), Silent()).case, Case)
    assert workers.verified == [("twice", None, False)]
