"""Verify kernels on this machine first, and send only the correct ones to be timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from metalbench import _core
from metalbench.compare.head_to_head import Match, MatchOutcome
from metalbench.errors import MetalBenchError
from metalbench.run.trial import Observer, Silent, Stage, Trial, device_facts
from metalbench.sandbox.resources import Limits
from metalbench.store.result import Result, Status
from metalbench.verify import Kind
from metalbench.verify.report import kind_named
from metalbench.workers.pool import Workers

if TYPE_CHECKING:
    from metalbench.store.result import DeviceFacts
    from metalbench.workers.remote_workers import RemoteWorkers

DEVICE = "cpu"
FOUND_HERE = (
    "found on this machine's cpu device, so that it was not sent to {}; --no-verify-here sends it "
    "as it is"
)
NOT_VERIFIED = "not verified here before it was sent to {}: {}"
# Failures of the cpu device only: a GPU may support these kernels.
UNSUPPORTED_KINDS = frozenset({"Unsupported", str(Kind.UNSUPPORTED)})

Key = tuple[object, ...]
Notes = tuple[str, ...]


class LocallyVerifiedWorkers:
    """Tries kernels elsewhere that were right on this machine's cpu device, in a process there.

    Of those that were not the result tells why, as if it came from elsewhere.
    """

    def __init__(self, remote: RemoteWorkers, limits: Limits) -> None:
        self._remote = remote
        self._workers = Workers(DEVICE, limits)
        self._device = device_facts(_core.open(DEVICE))
        self._right: dict[Key, Notes] = {}
        # Found ahead of its turn; what is wrong then is not looked at twice.
        self._wrong: dict[Key, Result] = {}

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        """Take one kernel through all stages but the recording; raises as `Workers.attempt`."""
        found, notes = self._verify(trial, observer)
        if found is not None:
            return replace(found, device=device, notes=(*found.notes, *notes))
        coming = [each for each in following[:1] if self._is_right(each, observer)]
        result = self._remote.attempt(device, trial, coming, observer)
        return replace(result, notes=(*notes, *result.notes))

    def play(self, device: DeviceFacts, match: Match, observer: Observer) -> MatchOutcome:
        """Verify and time a match's candidate; raises as `Workers.play`."""
        noted: list[str] = []
        for side in range(int(match.knows_before), 2):
            found, notes = self._verify(_trial_of(match, side), observer)
            noted += notes
            if found is not None:
                failure = found.failures[0]
                failure = replace(failure, kind=str(kind_named(failure.kind)))
                return MatchOutcome(device, failure, notes=tuple(noted), wrong=match.names[side])
        outcome = self._remote.play(device, match, observer)
        return replace(outcome, notes=(*noted, *outcome.notes))

    def close(self) -> None:
        """End the processes here."""
        self._workers.close()

    def _is_right(self, trial: Trial, observer: Observer) -> bool:
        """Return whether the next kernel is correct, so that it can be prepared in advance."""
        try:
            found, _ = self._verify(trial, _NextKernelObserver(observer, trial.entry.name))
        except MetalBenchError:
            return False  # reported when the trial runs
        if found is not None:
            self._wrong[_key(trial)] = found
        return found is None

    def _verify(self, trial: Trial, observer: Observer) -> tuple[Result | None, Notes]:
        """Return the failed result of a kernel, or None if it is correct, and notes.

        It is verified at sizes up to the cpu device's headline, for those of a GPU take too long.
        """
        key, name = _key(trial), self._remote.name
        if key in self._right:
            return None, self._right[key]
        found = self._wrong.pop(key, None)
        if found is None:
            here = replace(trial, size=None, timed=False)
            found = self._workers.attempt(self._device, here, (), _LocalObserver(observer))
        if found.status is not Status.CORRECT and not _cannot_be_tried(found):
            return found, (FOUND_HERE.format(name),)
        said = "; ".join(each.message for each in found.failures)
        self._right[key] = (NOT_VERIFIED.format(name, said),) if said else ()
        return None, self._right[key]


def _trial_of(match: Match, side: int) -> Trial:
    """The trial of one of a match's kernels, 0 for `before`."""
    return Trial(
        match.entry,
        (match.before, match.after)[side],
        match.dtype,
        seed=match.plan.seed,
        tunables=match.tunables[side],
    )


def _key(trial: Trial) -> Key:
    """Return a key of everything that the correctness of a trial depends on."""
    if trial.broken is not None:
        return ("broken", trial.entry.name)
    path = trial.entry.task_path
    task = path.read_bytes() if path.is_file() else b""
    return (trial.kernel.hash, tuple(sorted(trial.tunables.items())), trial.dtype, task)


def _cannot_be_tried(found: Result) -> bool:
    return {each.kind for each in found.failures} <= UNSUPPORTED_KINDS


class _LocalObserver(Silent):
    """Passes on at what stage a kernel is, and that it is so on this machine."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def stage_started(self, stage: Stage) -> None:
        """Tell of a stage."""
        self._observer.stage_started(stage)
        self._observer.stage_detail("here")

    def stage_detail(self, detail: str) -> None:
        """Tell what it is at."""
        self._observer.stage_detail(f"here, {detail}")


class _NextKernelObserver(Silent):
    """Passes on that a kernel is looked at whose turn is yet to come."""

    def __init__(self, observer: Observer, name: str) -> None:
        self._observer = observer
        self._name = name

    def stage_detail(self, detail: str) -> None:
        """Tell what it is at."""
        self._observer.stage_detail(f"{detail}, {self._name}, which comes next")
