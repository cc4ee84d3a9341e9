"""Several objectives at once: ``--objective predicted:m1,predicted:m4``.

A candidate must be better on at least one objective, and not worse on any other. Better is what
the rule of a single objective says: FASTER and confirmed, or predicted to be faster with the
probability DECIDED. Not worse means, of measured times, that the whole interval of the ratio lies
above NOT_WORSE; of predicted times, that the predicted ratio is above it, so that the candidate is
slower by more than the margin with a probability of at most one half.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean
from typing import TYPE_CHECKING

from agent_steel.attempt import Status
from agent_steel.loop.held_out import PREDICTED_SLOWER
from agent_steel.loop.predicted import (
    PredictionVerifier,
    Predictor,
    is_predicted_slower,
    predict_both,
    predict_ratio,
)
from agent_steel.loop.settings import name_objective
from agent_steel.loop.verifier import (
    CandidateJudgement,
    Verifier,
    Version,
    draw_held_out,
)
from metalbench.profiling.prediction import DECIDED, compare_predictions, probability_faster
from metalbench.run.trial import Silent
from metalbench.stats import MARGIN, Interval

if TYPE_CHECKING:
    from agent_steel.loop.settings import SearchSubject
    from metalbench.run.trial import Observer

NOT_WORSE = 1.0 - MARGIN


@dataclass(frozen=True)
class ObjectiveResult:
    """The ratio of a candidate by one objective, and what follows from it; `text` says why."""

    name: str
    ratio: Interval
    is_better: bool
    is_worse: bool
    text: str


@dataclass(frozen=True)
class MultiObjectiveVerifier:
    """Judges candidates by the objective of `first`, and by predicted times on further chips.

    `first` must not hold out cases itself: `holds_out` says whether this does, at last.
    """

    first: Verifier | PredictionVerifier
    predictors: tuple[Predictor, ...]
    holds_out: bool = True

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
        """Return the judgement by all objectives; raises as `Verifier.judge`.

        Its `ratio` is the geometric mean of the ratios of all objectives.
        """
        observer = observer or Silent()
        found = self.first.judge(
            subject, best, candidate, number=number, repeat=repeat, observer=observer
        )
        if found.ratio is None:
            return found
        results = [self._read_first(subject, found)]
        for each in self.predictors:
            result = compare_by_prediction(each, subject, best, candidate)
            if isinstance(result, str):
                return replace(found, status=Status.REVERTED, error=result)
            results.append(result)
        found = replace(
            found,
            ratio=mean_ratio([each.ratio for each in results]),
            objectives={each.name: each.ratio for each in results},
        )
        is_open = found.status is Status.UNDECIDED
        error = find_shortfall(results[1:] if is_open else results, is_open=is_open)
        if error:
            return replace(found, status=Status.REVERTED, error=error)
        if is_open:
            return found
        if self.holds_out:
            failed = self._find_failure_held_out(subject, best, candidate, number, observer)
            if failed is not None:
                return replace(found, status=failed[0], error=failed[1])
        return replace(found, status=Status.KEPT, error="")

    def _read_first(self, subject: SearchSubject, found: CandidateJudgement) -> ObjectiveResult:
        assert found.ratio is not None
        is_better, ratio = found.status is Status.KEPT, found.ratio
        if subject.chip is None:
            is_worse = not ratio.is_bounded or ratio.low < NOT_WORSE
        else:
            is_worse = ratio.value < NOT_WORSE
        name = subject.objectives[0]
        return ObjectiveResult(name, ratio, is_better, is_worse and not is_better, found.error)

    def _find_failure_held_out(
        self,
        subject: SearchSubject,
        best: Version,
        candidate: Version,
        number: int,
        observer: Observer,
    ) -> tuple[Status, str] | None:
        failed = self.first.find_failure_held_out(subject, best, candidate, number, observer)
        if failed is not None:
            return failed
        cases, _ = draw_held_out(subject, best, self.first.seed, number)
        for size in cases.timed if cases.is_timed else ():
            there = replace(subject, size=size)
            if any(is_predicted_slower(each, there, best, candidate) for each in self.predictors):
                return Status.REVERTED, PREDICTED_SLOWER
        return None


def compare_by_prediction(
    predictor: Predictor, subject: SearchSubject, best: Version, candidate: Version
) -> ObjectiveResult | str:
    """Return the result of a candidate on a chip, or why there is no prediction.

    Raise WrongRivalError if the best version cannot be predicted.
    """
    both = predict_both(predictor, subject, best, candidate)
    if isinstance(both, str):
        return both
    rival, found = both
    ratio = predict_ratio(found, rival)
    return ObjectiveResult(
        name_objective(predictor.chip),
        ratio,
        is_better=probability_faster(found, rival) >= DECIDED,
        is_worse=ratio.value < NOT_WORSE,
        text=compare_predictions(found, rival),
    )


def find_shortfall(results: Sequence[ObjectiveResult], *, is_open: bool = False) -> str:
    """Return why a candidate is not better by all objectives together; '' if it is.

    With `is_open` a further objective is undecided, which may be the one that is better.
    """
    worse = [each for each in results if each.is_worse]
    if worse:
        said = "; ".join(f"{each.name}: {each.text or 'slower'}" for each in worse)
        return f"it may be worse on {said}"
    if is_open or any(each.is_better for each in results):
        return ""
    said = "; ".join(f"{each.name}: {each.text}" for each in results)
    return f"better on no objective: {said}"


def mean_ratio(ratios: Sequence[Interval]) -> Interval:
    """Return the geometric mean of ratios, whose ends are the means of the ends.

    Predictions have common errors: unlike `stats.geometric_mean`, this does not take the errors of
    the ratios as independent.
    """
    if not all(each.is_bounded and each.low > 0 for each in ratios):
        return Interval(geometric_mean([each.value for each in ratios]), -math.inf, math.inf)
    values, lows, highs = (
        [getattr(each, name) for each in ratios] for name in ("value", "low", "high")
    )
    return Interval(*map(geometric_mean, (values, lows, highs)))
