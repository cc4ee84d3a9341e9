"""Whether a candidate is right and faster than the best so far. No model has a say in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from agent_steel.attempt import OF_SCATTER, Status, Target, may_be_better, shortfall
from agent_steel.loop.held_out import SLOWER, WRONG_CASE, HeldOutCases, draw_cases
from metalbench.compare.head_to_head import Match, MatchRunner, run_match
from metalbench.errors import MetalBenchError
from metalbench.measure.measurement import Plan
from metalbench.run.timed import like_seeds
from metalbench.run.trial import Silent
from metalbench.stats import MARGIN, Interval, Verdict, spread_ratio
from metalbench.store.result import Status as ResultStatus
from metalbench.verify import Kind
from metalbench.verify.held_out import HeldOut

if TYPE_CHECKING:
    from agent_steel.loop.settings import SearchSubject
    from metalbench.compare.head_to_head import MatchOutcome
    from metalbench.kernel.header import Kernel
    from metalbench.measure.measurement import Measurement, SampleSet
    from metalbench.run.trial import Observer
    from metalbench.store.result import Failure, Result

SECONDS, CONFIRMATION_SECONDS = 1.0, 3.0
# A candidate whose verdict is INCONCLUSIVE is measured up to this number of times more, each time
# this many times as long as before.
MOST_REPEATS = 2
LONGER = 3.0
# Seeds of held-out cases begin this far after the others.
HELD_OUT_SEEDS = 1_000_003
UNCERTAIN = (Verdict.INCONCLUSIVE, Verdict.THROTTLED)


class WrongRivalError(MetalBenchError):
    """The rival of a candidate is wrong, so that the candidate cannot be judged."""


@dataclass(frozen=True)
class Version:
    """A kernel with the values of its tunables, and what it is called."""

    kernel: Kernel
    tunables: Mapping[str, int]
    name: str


@dataclass(frozen=True)
class CandidateJudgement:
    """The status of a candidate and the measurements behind it."""

    status: Status
    error: str = ""
    ratio: Interval | None = None
    steadiness: Interval | None = None
    samples: tuple[SampleSet, ...] = ()
    measured_from: float | None = None
    measured_to: float | None = None
    objectives: Mapping[str, Interval] = field(default_factory=dict)


class CandidateVerifier(Protocol):
    """Judges candidates, by one objective or by several."""

    def judge(
        self,
        subject: SearchSubject,
        best: Version,
        candidate: Version,
        *,
        number: int,
        repeat: int = 0,
        observer: Observer | None = None,
    ) -> CandidateJudgement:
        """Return the judgement of attempt `number`; `repeat` counts its earlier judgements."""


class EarlierVerification(Protocol):
    """The results of candidates that were verified before they are judged."""

    def take(self, subject: SearchSubject, candidate: Version, number: int) -> Result | None:
        """Return the result of attempt `number`; None if it has to be verified now."""

    def covers(self, subject: SearchSubject) -> bool:
        """Return whether the results are as thorough as those of the subject's device."""


@dataclass(frozen=True)
class Verifier:
    """Compare candidates with the best version so far, each in a separate process.

    A candidate that is better by `target` is confirmed by a longer measurement on other inputs:
    the best of many short measurements is biased (winner's curse). With `holds_out` it must also be
    right, and not slower, in held-out cases. One that may be better, but whose verdict is
    INCONCLUSIVE, is UNDECIDED until it was repeated MOST_REPEATS times. `workers` verify candidates
    first, where there are some.
    """

    players: MatchRunner
    seed: int = 0
    plan: Plan = field(default_factory=lambda: Plan(seconds=SECONDS))
    confirmation: Plan = field(default_factory=lambda: Plan(seconds=CONFIRMATION_SECONDS))
    target: Target = Target.SPEED
    holds_out: bool = True
    workers: EarlierVerification | None = None

    def judge(
        self,
        subject: SearchSubject,
        best: Version,
        candidate: Version,
        *,
        number: int,
        repeat: int = 0,
        observer: Observer | None = None,
    ) -> CandidateJudgement:
        """Compile a candidate, verify it throughout, and time it in pairs with the best so far.

        `number` is the attempt's, from which the seeds follow. `repeat` counts earlier judgements
        that were UNDECIDED: the candidate is measured longer, and not verified again. Raise
        MachineError if the machine is at fault, DeclarationError if the task is, and
        WrongRivalError if the best is wrong.
        """
        observer = observer or Silent()
        is_verified = repeat > 0
        if self.workers is not None and not is_verified:
            result = self.workers.take(subject, candidate, number)
            if result is not None and result.status is not ResultStatus.CORRECT:
                return judge_failed_result(result)
            is_verified = result is not None and self.workers.covers(subject)
        # Of the same distributions, so that they cost the same time.
        first = 2 * (number * (MOST_REPEATS + 1) + repeat)
        seeds = islice(like_seeds(subject.task, self.seed), first, None)
        plan = self._lengthen(self.plan, repeat)
        confirmation = self.confirmation
        if plan.seconds > confirmation.seconds:
            confirmation = replace(confirmation, seconds=plan.seconds)
        match = Match(
            subject.entry,
            best.kernel,
            candidate.kernel,
            (best.name, candidate.name),
            dtype=subject.dtype,
            size=subject.size,
            plan=self._plan(plan, next(seeds)),
            tunables=(best.tunables, candidate.tunables),
            thorough=not is_verified,
        )
        found = self._read_match(subject, match, observer)
        if found.status is Status.KEPT:
            again = replace(match, plan=self._plan(confirmation, next(seeds)), thorough=False)
            found = _confirm(found, self._read_match(subject, again, observer))
        if found.status is Status.KEPT and self.holds_out:
            failed = self.find_failure_held_out(subject, best, candidate, number, observer)
            if failed is not None:
                return replace(found, status=failed[0], error=failed[1])
        if found.status is not Status.UNDECIDED or repeat == 0:
            return found
        if repeat >= MOST_REPEATS:
            error = f"{found.error}, in {repeat + 1} measurements"
            return replace(found, status=Status.REVERTED, error=error)
        if self.target not in OF_SCATTER and not _has_gain(found.ratio):
            # The next measurement is the longest one, and most of these would not be FASTER by it.
            error = f"{found.error}, and no gain by the estimate of {repeat + 1} measurements"
            return replace(found, status=Status.REVERTED, error=error)
        return found

    def find_failure_held_out(
        self,
        subject: SearchSubject,
        best: Version,
        candidate: Version,
        number: int,
        observer: Observer,
    ) -> tuple[Status, str] | None:
        """Return status and error of a candidate that fails in a held-out case, else None."""
        cases, seed = draw_held_out(subject, best, self.seed, number)
        plan = replace(self.plan, seed=seed)
        for case in list_matches(subject, best, candidate, cases, plan, timed=cases.is_timed):
            outcome = run_match(self.players, subject.device, case, observer)
            if outcome.failure is None and _may_be_slower(outcome.measurement):
                longer = replace(plan, seconds=LONGER * plan.seconds)
                again = replace(case, plan=longer, held_out=HeldOut())
                outcome = run_match(self.players, subject.device, again, observer)
            error = read_held_out(case, outcome)
            if error is not None:
                return error
        return None

    @staticmethod
    def _lengthen(plan: Plan, repeat: int) -> Plan:
        return replace(plan, seconds=plan.seconds * LONGER**repeat)

    def _plan(self, plan: Plan, seed: int) -> Plan:
        """A plan with a seed; where the scatter counts no early end, for it takes more pairs."""
        if self.target in OF_SCATTER:
            plan = replace(plan, settled_half_width=0.0, half_width=0.0)
        return replace(plan, seed=seed)

    def _read_match(
        self, subject: SearchSubject, match: Match, observer: Observer
    ) -> CandidateJudgement:
        """Return the judgement of one match; KEPT is not confirmed yet."""
        outcome = run_match(self.players, subject.device, match, observer)
        if outcome.failure is not None:
            return _fail(match, outcome.failure, outcome.wrong)
        measured = outcome.measurement
        assert measured is not None
        samples = measured.samples
        steadiness = spread_ratio(samples.reference_ns, samples.candidate_ns)
        short = shortfall(self.target, measured.verdict, measured.ratio, steadiness)
        status = Status.REVERTED if short else Status.KEPT
        if short and may_be_better(self.target, measured.verdict, measured.judgement, steadiness):
            status = Status.UNDECIDED
        return CandidateJudgement(
            status,
            short,
            measured.ratio,
            steadiness,
            (samples,),
            outcome.measured_from,
            outcome.measured_to,
        )


def draw_held_out(
    subject: SearchSubject, best: Version, seed: int, number: int
) -> tuple[HeldOutCases, int]:
    """Return the held-out cases of attempt `number`, and their seed.

    No other judgement of the attempt uses that seed.
    """
    own = next(like_seeds(subject.task, seed, skipped=HELD_OUT_SEEDS + 97 * number))
    cases = draw_cases(subject.task, subject.size, own, kernel=best.kernel, tunables=best.tunables)
    return cases, own


def list_matches(
    subject: SearchSubject,
    best: Version,
    candidate: Version,
    cases: HeldOutCases,
    plan: Plan,
    *,
    timed: bool,
) -> Iterator[Match]:
    """Yield a match at each timed size of held-out cases; the first one verifies all cases."""
    for place, size in enumerate(cases.timed):
        yield Match(
            *(subject.entry, best.kernel, candidate.kernel, (best.name, candidate.name)),
            dtype=subject.dtype,
            size=size,
            plan=plan,
            tunables=(best.tunables, candidate.tunables),
            thorough=False,
            held_out=cases.at(place),
            timed=timed,
        )


def read_held_out(match: Match, outcome: MatchOutcome) -> tuple[Status, str] | None:
    """Return status and error of a candidate by a match at a held-out size; None if it passed.

    A size at which the rival is wrong says nothing. Messages of the match are left out, because
    they name the case.
    """
    if outcome.failure is not None:
        return None if outcome.wrong == match.names[0] else (Status.WRONG, WRONG_CASE)
    measured = outcome.measurement
    if measured is None or measured.ratio is None:
        return None
    ratio = measured.ratio
    is_below = ratio.is_bounded and ratio.high < 1.0 - MARGIN
    if measured.verdict is Verdict.SLOWER or (measured.verdict in UNCERTAIN and is_below):
        return Status.REVERTED, SLOWER.format(ratio=ratio.value)
    return None


def _has_gain(ratio: Interval | None) -> bool:
    return ratio is None or ratio.value > 1.0 + MARGIN


def _may_be_slower(measured: Measurement | None) -> bool:
    """Return whether a measurement is uncertain, and its estimate is that a kernel is slower."""
    if measured is None or measured.ratio is None or measured.verdict not in UNCERTAIN:
        return False
    return measured.ratio.value < 1.0 - MARGIN


def _fail(match: Match, failure: Failure, wrong: str | None) -> CandidateJudgement:
    where = f"at {failure.stage}: {failure.kind}: {failure.message}"
    if wrong == match.names[0]:
        raise WrongRivalError(f"{wrong} is not correct after all, {where}")
    return CandidateJudgement(
        Status.BROKEN if Kind(failure.kind).ends_verification else Status.WRONG, where
    )


def judge_failed_result(result: Result) -> CandidateJudgement:
    """Return the judgement of a candidate whose trial has failed."""
    failure = result.failures[0]
    ends = Kind(failure.kind).ends_verification
    where = f"at {failure.stage}: {failure.kind}: {failure.message}"
    return CandidateJudgement(Status.BROKEN if ends else Status.WRONG, where)


def _confirm(first: CandidateJudgement, second: CandidateJudgement) -> CandidateJudgement:
    error = second.error
    if second.status in (Status.REVERTED, Status.UNDECIDED):
        assert first.ratio is not None
        error = f"not confirmed: better at first ({first.ratio.value:.3g}x), then {second.error}"
    return replace(
        second,
        error=error,
        samples=(*first.samples, *second.samples),
        measured_from=first.measured_from,
        measured_to=second.measured_to or first.measured_to,
    )
