"""Whether a candidate is right and faster than the best so far. No model has a say in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from agent_steel.attempt import Fate
from metalbench.comparison.match import Match, Outcome, Players
from metalbench.measure import Plan
from metalbench.run.stages import Silent
from metalbench.run.timed import like_seeds
from metalbench.stats import Interval, Verdict
from metalbench.verify import Kind

if TYPE_CHECKING:
    from agent_steel.subject import Subject
    from metalbench.kernel import Kernel
    from metalbench.measure import SampleSet
    from metalbench.run.stages import Observer

SECONDS, CONFIRMATION_SECONDS = 1.0, 3.0


@dataclass(frozen=True)
class Version:
    """A kernel with the values of its tunables, and what it is called."""

    kernel: Kernel
    tunables: Mapping[str, int]
    name: str


@dataclass(frozen=True)
class Finding:
    """What has become of a candidate, and on what that rests."""

    fate: Fate
    error: str = ""
    ratio: Interval | None = None
    samples: tuple[SampleSet, ...] = ()
    measured_from: float | None = None
    measured_to: float | None = None


@dataclass(frozen=True)
class Verifier:
    """Plays candidates against the best so far, each in a process of its own.

    What is FASTER is confirmed by a longer measurement on other inputs, for the best of many short
    ones is also the luckiest.
    """

    players: Players
    seed: int = 0
    plan: Plan = field(default_factory=lambda: Plan(seconds=SECONDS))
    confirmation: Plan = field(default_factory=lambda: Plan(seconds=CONFIRMATION_SECONDS))

    def judge(
        self,
        subject: Subject,
        best: Version,
        candidate: Version,
        *,
        number: int,
        observer: Observer | None = None,
    ) -> Finding:
        """Compile a candidate, verify it throughout, and time it in pairs with the best so far.

        `number` is the attempt's, from which the seeds follow. Raises MachineError if the machine
        is at fault, DeclarationError if the task is.
        """
        observer = observer or Silent()
        # Of the same distributions, so that they cost the same time.
        seeds = islice(like_seeds(subject.task, self.seed), 2 * number, None)
        match = Match(
            subject.entry,
            best.kernel,
            candidate.kernel,
            (best.name, candidate.name),
            dtype=subject.dtype,
            size=subject.size,
            plan=replace(self.plan, seed=next(seeds)),
            tunables=(best.tunables, candidate.tunables),
        )
        found = _found(self._played(subject, match, observer))
        if found.fate is not Fate.KEPT:
            return found
        plan = replace(self.confirmation, seed=next(seeds))
        again = replace(match, plan=plan, thorough=False)
        return _confirmed(found, _found(self._played(subject, again, observer)))

    def _played(self, subject: Subject, match: Match, observer: Observer) -> Outcome:
        """Play a match; once more if memory ran out, which others may have used up."""
        outcome = self.players.play(subject.device, match, observer)
        failure = outcome.failure
        if failure is not None and Kind(failure.kind) is Kind.OUT_OF_MEMORY:
            return self.players.play(subject.device, match, observer)
        return outcome


def _found(outcome: Outcome) -> Finding:
    """What one match says; KEPT is yet to be confirmed."""
    if outcome.failure is not None:
        final = Kind(outcome.failure.kind).ends_verification
        fate = Fate.BROKEN if final else Fate.WRONG
        where = f"at {outcome.failure.stage}: {outcome.failure.kind}: {outcome.failure.message}"
        return Finding(fate, where)
    measured = outcome.measurement
    assert measured is not None
    faster = measured.verdict is Verdict.FASTER
    verdict = measured.verdict.value if measured.verdict else "no verdict"
    return Finding(
        Fate.KEPT if faster else Fate.REVERTED,
        "" if faster else f"{verdict}, not FASTER",
        measured.ratio,
        (measured.samples,),
        outcome.measured_from,
        outcome.measured_to,
    )


def _confirmed(first: Finding, second: Finding) -> Finding:
    error = second.error
    if second.fate is Fate.REVERTED:
        assert first.ratio is not None
        error = f"not confirmed: FASTER at first ({first.ratio.value:.3g}x), then {second.error}"
    return replace(
        second,
        error=error,
        samples=(*first.samples, *second.samples),
        measured_from=first.measured_from,
        measured_to=second.measured_to or first.measured_to,
    )
