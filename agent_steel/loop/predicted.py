"""Search by times that a model predicts for an Apple GPU: ``--objective predicted:m4``.

A candidate is verified on the device as usual. Its time, and that of its rival, are predicted
(`metalbench.profiling.prediction`), and the probability of being faster decides. Nothing is timed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol

from agent_steel.attempt import Status
from agent_steel.loop.held_out import PREDICTED_SLOWER
from agent_steel.loop.profiler import (
    Profiler,
    WrongStartError,
    describe_objectives,
    describe_past,
    describe_text,
    list_predictions,
)
from agent_steel.loop.verifier import (
    CandidateJudgement,
    EarlierVerification,
    Version,
    WrongRivalError,
    draw_held_out,
    judge_failed_result,
    list_matches,
    read_held_out,
)
from agent_steel.proposal import Diagnosis, Fact
from agent_steel.roofline import Triers
from metalbench.chips import peak_rates
from metalbench.compare.head_to_head import MatchRunner, run_match
from metalbench.errors import MachineError, MetalBenchError
from metalbench.kernel.header import device_names
from metalbench.measure.measurement import Plan
from metalbench.profiling.gpu_calibration import COVERAGE
from metalbench.profiling.prediction import (
    DECIDED,
    Prediction,
    compare_predictions,
    predict_kernel,
    predict_works,
    probability_faster,
)
from metalbench.report import numbers
from metalbench.run.timed import like_seeds
from metalbench.run.trial import Silent, Trial
from metalbench.stats import Interval
from metalbench.store.result import Status as ResultStatus

if TYPE_CHECKING:
    from agent_steel.attempt import Attempt
    from agent_steel.loop.settings import SearchSubject
    from metalbench.kernel.header import Kernel
    from metalbench.profiling.gpu_chips import GpuChip
    from metalbench.profiling.prediction import MeasuredDispatch
    from metalbench.run.trial import Observer
    from metalbench.store.result import Result

# What each cause of the predicted time means, and what makes it shorter.
CAUSES = {
    "latency": "each SIMD-group waits for its own operands and loads: independent work for each "
    "thread, loads ahead of their use, or more SIMD-groups that are resident",
    "issue": "the schedulers issue instructions: fewer instructions for each element",
    "complex": "divisions, square roots and transcendental functions: fewer or cheaper ones",
    "data path": "loads and stores pass through the core: wider and denser accesses",
    "threadgroup memory": "accesses and bank conflicts of threadgroup memory: padding, or "
    "SIMD-group functions in its place",
    "L2": "lines of device memory that L1 does not hold: reuse within a threadgroup",
    "private memory": "arrays that do not stay in registers: constant indices, smaller arrays",
    "atomics": "atomics that wait for others: a sum in each threadgroup first",
    "memory": "bytes from memory or its last cache: less traffic, narrower types",
    "dispatch": "the fixed cost of dispatches: fewer of them",
    "command buffer": "the fixed cost of the launch, which no kernel can change",
}
MOST_CAUSES = 4
LEAST_SHARE = 0.05


@dataclass(frozen=True)
class Predictor:
    """Predictions for one chip; each version is predicted once."""

    chip: GpuChip
    seed: int = 0
    _known: dict[tuple[object, ...], Prediction | str] = field(default_factory=dict)

    def predict(
        self, subject: SearchSubject, kernel: Kernel, tunables: Mapping[str, int]
    ) -> Prediction | str:
        """Return the prediction of a version, or why there is none. Raise MachineError."""
        # The values of the device that leads are those of all objectives.
        values = kernel.resolve_tunables(tunables, dtype=subject.dtype)
        key = (subject.place, kernel.hash, tuple(sorted(values.items())))
        if key not in self._known:
            try:
                self._known[key] = predict_kernel(
                    kernel.on(device_names(self.chip.target)),
                    *(subject.task, subject.size, self.chip),
                    dtype_name=subject.dtype,
                    tunables=values,
                    seed=self.seed,
                )
            except MachineError:
                raise
            except MetalBenchError as error:
                self._known[key] = str(error)
        return self._known[key]

    def add_works(
        self,
        subject: SearchSubject,
        kernel: Kernel,
        tunables: Mapping[str, int],
        works: Sequence[MeasuredDispatch],
    ) -> None:
        """Predict a version from the work of its dispatches, which a worker has measured."""
        values = kernel.resolve_tunables(tunables, dtype=subject.dtype)
        key = (subject.place, kernel.hash, tuple(sorted(values.items())))
        if key not in self._known:
            found = predict_works(kernel.name, subject.size, self.chip, list(works))
            self._known[key] = found


class TriersAndPlayers(Triers, MatchRunner, Protocol):
    """The pool that runs trials and matches."""


def verify_version(
    triers: Triers, subject: SearchSubject, version: Version, seed: int, observer: Observer
) -> Result:
    """Verify a version at all sizes and in checked builds, without timing it."""
    trial = Trial(
        *(subject.entry, version.kernel, subject.dtype, subject.size),
        seed=seed,
        tunables=version.tunables,
        timed=False,
    )
    return triers.attempt(subject.device, trial, (), observer)


@dataclass(frozen=True)
class PredictionVerifier:
    """Verify candidates on the device, and compare predicted times with the best so far.

    A candidate is kept if it is faster with the probability DECIDED or more. If neither is, the
    model cannot tell, and the candidate is reverted. With `holds_out` it must also be right in
    held-out cases, and not be predicted slower at held-out sizes. `workers` verify candidates, and
    measure their work, where there are some.
    """

    triers: TriersAndPlayers
    predictor: Predictor
    seed: int = 0
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
        """Return the judgement of a candidate, whose `ratio` is predicted.

        `number` is the attempt's, from which the seed follows; predictions are not repeated. Raise
        MachineError if the machine is at fault, DeclarationError if the task is, and
        WrongRivalError if the best version cannot be predicted.
        """
        (seed,) = islice(like_seeds(subject.task, self.seed), number, number + 1)
        result = self.workers.take(subject, candidate, number) if self.workers else None
        if result is None:
            result = verify_version(self.triers, subject, candidate, seed, observer or Silent())
        if result.status is not ResultStatus.CORRECT:
            return judge_failed_result(result)
        both = predict_both(self.predictor, subject, best, candidate)
        if isinstance(both, str):
            return CandidateJudgement(Status.REVERTED, both)
        rival, found = both
        is_faster = probability_faster(found, rival) >= DECIDED
        ratio = predict_ratio(found, rival)
        if not is_faster:
            return CandidateJudgement(Status.REVERTED, compare_predictions(found, rival), ratio)
        if self.holds_out:
            error = self.find_failure_held_out(
                subject, best, candidate, number, observer or Silent()
            )
            if error is not None:
                return CandidateJudgement(*error, ratio)
        return CandidateJudgement(Status.KEPT, "", ratio)

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
        matches = list_matches(subject, best, candidate, cases, Plan(seed=seed), timed=False)
        for size, match in zip(cases.timed, matches, strict=True):
            outcome = run_match(self.triers, subject.device, match, observer)
            error = read_held_out(match, outcome)
            if error is not None:
                return error
            if not cases.is_timed or outcome.failure is not None:
                continue
            there = replace(subject, size=size)
            if is_predicted_slower(self.predictor, there, best, candidate):
                return Status.REVERTED, PREDICTED_SLOWER
        return None


def predict_both(
    predictor: Predictor, subject: SearchSubject, best: Version, candidate: Version
) -> tuple[Prediction, Prediction] | str:
    """Return the predictions of both versions, or why there is none of the candidate.

    Raise WrongRivalError if the best version cannot be predicted.
    """
    rival, found = (
        predictor.predict(subject, each.kernel, each.tunables) for each in (best, candidate)
    )
    chip = predictor.chip.name
    if isinstance(rival, str):
        raise WrongRivalError(f"{best.name} cannot be predicted on {chip}: {rival}")
    if isinstance(found, str):
        return f"it cannot be predicted on {chip}: {found}"
    return rival, found


def is_predicted_slower(
    predictor: Predictor, subject: SearchSubject, best: Version, candidate: Version
) -> bool:
    """Return whether a candidate is predicted to be slower, with the probability DECIDED.

    A size at which one of the two cannot be predicted says nothing.
    """
    try:
        both = predict_both(predictor, subject, best, candidate)
    except WrongRivalError:
        return False
    return not isinstance(both, str) and probability_faster(*both) >= DECIDED


def predict_ratio(found: Prediction, rival: Prediction) -> Interval:
    """Return the rival's predicted time over that of a candidate, with the calibrated interval."""
    ratio = rival.seconds / found.seconds
    half = NormalDist().inv_cdf((1 + COVERAGE) / 2) * found.calibration.pair_spread
    return Interval(ratio, ratio * math.exp(-half), ratio * math.exp(half))


class PredictionProfiler(Profiler):
    """Verifies versions, and diagnoses them by their predicted times and the causes of these."""

    def __init__(
        self,
        triers: Triers,
        predictor: Predictor,
        *,
        seed: int = 0,
        others: Sequence[GpuChip] = (),
    ) -> None:
        super().__init__(triers, seed=seed, roofs=False, chips=others)
        self._predictor = predictor
        self._correct: set[tuple[object, ...]] = set()

    def diagnose(
        self, subject: SearchSubject, attempt: Attempt, history: Sequence[Attempt]
    ) -> Diagnosis:
        """Diagnose an attempt. Raise WrongStartError if it is incorrect or cannot be predicted."""
        kernel = subject.kernel_of(attempt)
        key = (subject.place, attempt.source_key)
        if key not in self._correct:
            version = Version(kernel, attempt.tunables, f"attempt {attempt.number}")
            result = verify_version(self._triers, subject, version, self._seed, Silent())
            self.expect_correct(subject, result)
            self._correct.add(key)
        found = self._predictor.predict(subject, kernel, attempt.tunables)
        if isinstance(found, str):
            raise WrongStartError(f"{subject.entry.name} cannot be predicted: {found}")
        values = kernel.resolve_tunables(attempt.tunables, dtype=subject.dtype)
        facts = (
            *list_predictions(found, kernel),
            *list_causes(found),
            *locate_on_roofline(subject, found),
            *describe_text(kernel, values),
            *describe_past(history),
            *self.list_counts(subject, attempt),
            *self.list_lints(subject, attempt),
            *self.list_other_predictions(subject, attempt),
            *describe_objectives(subject),
        )
        return replace(diagnose_prediction(found), facts=facts)


def diagnose_prediction(found: Prediction) -> Diagnosis:
    """Say what takes the predicted time of a version."""
    cause, seconds = next(iter(found.parts.items()))
    low, middle, high = (
        numbers.short_time(1e9 * each) for each in (found.low_s, found.seconds, found.high_s)
    )
    text = (
        f"On {found.chip.name} it is predicted to take {middle} ({low} to {high}), of which "
        f"{100 * seconds / found.seconds:.0f} % is {cause}: {CAUSES[cause]}. "
        "This is a prediction of a model, not a measurement."
    )
    return Diagnosis(cause, text)


def locate_on_roofline(subject: SearchSubject, found: Prediction) -> Iterator[Fact]:
    """Yield how near the predicted time is to the roofline of the chip's published rates."""
    rates = peak_rates(found.chip.key, found.chip.cores)
    if rates is None:
        return
    flops = subject.task.flops(subject.size)
    nbytes = subject.task.bytes(subject.size, subject.dtype)
    by_bytes, by_flops = rates.least_seconds(0, nbytes), rates.least_seconds(flops, 0)
    roof = "memory" if by_bytes >= by_flops else "arithmetic"
    share = 100 * max(by_bytes, by_flops) / found.seconds
    yield Fact(
        "roofline",
        f"{share:.0f} % of the {roof} roof of {found.chip.name} at its published rates, by the "
        f"predicted time: {numbers.size(nbytes)} at least, {numbers.quantity(flops, 'FLOP')}",
    )


def list_causes(found: Prediction) -> Iterator[Fact]:
    """Yield the meaning of each large cause of the predicted time, and what each dispatch needs."""
    for cause, seconds in islice(found.parts.items(), MOST_CAUSES):
        share = seconds / found.seconds
        if share >= LEAST_SHARE:
            yield Fact(f"predicted cause, {100 * share:.0f} %", f"{cause}: {CAUSES[cause]}")
    seen: set[str] = set()
    for each in found.dispatches:
        work = each.work
        fact = (
            f"{numbers.short_time(1e9 * each.seconds)}, limited by {each.limit}; about "
            f"{work.halves / 2:.0f} registers a thread, {work.threadgroups:.0f} threadgroups of "
            f"{work.simdgroups:.0f} SIMD-groups"
        )
        if fact not in seen:
            seen.add(fact)
            yield Fact(f"predicted dispatch of {each.function}", fact)
