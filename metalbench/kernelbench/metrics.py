"""Compute KernelBench's metrics of samples, against one of MLX's forms as the baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metalbench.kernelbench.answers import GenerationOutcome
from metalbench.kernelbench.candidates.source import OWN_WORK_MISSING
from metalbench.stats import Interval, bootstrap_mean, geometric_mean, pass_at_k, wilson_interval
from metalbench.store.history import Evaluation

# `compared` is what the measurement was paired with: the fastest form.
BASELINES = ("compared", "eager", "compiled", "fast")
COMPILED = "mx.compile: "
FAST = "mx.fast"


def classify_form(form: str) -> str:
    """The kind of a form by its name: "eager", "compiled" or "fast"."""
    if form.startswith(COMPILED):
        return "compiled"
    return "fast" if form == FAST else "eager"


def compute_ratio(evaluation: Evaluation, baseline: str) -> Interval | None:
    """The time of a baseline over the sample's; None where either was not timed.

    Of a form that was timed by itself, and not in pairs with the sample, the ends are the least and
    the greatest ratio that both intervals leave.
    """
    if baseline == "compared":
        return evaluation.ratio
    own = evaluation.kernel_ns
    for name, time in evaluation.forms:
        if classify_form(name) == baseline and own is not None:
            return Interval(time.value / own.value, time.low / own.high, time.high / own.low)
    return None


# The figures of KernelBench: shares that compile, are correct and are fast, and pass@k.
#
# Shares, fast_p, its curve and the mean are of each problem's sample 0, as KernelBench has them;
# pass@k and fast_p@k are of all samples. A problem counts whether or not there is a sample of
# it.

THRESHOLDS = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)
# The ratios of the curves, from 0 to 4.
CURVE = tuple(float(each) for each in np.linspace(0.0, 4.0, 81))


@dataclass(frozen=True)
class EvaluatedSample:
    """One generation: its class, and its reference's time over its own where it was timed.

    `task` is the name of the problem's task, empty where it is not known. `message` is the first
    failure.
    """

    outcome: GenerationOutcome
    ratio: Interval | None = None
    task: str = ""
    message: str = ""

    def is_fast(self, p: float) -> bool:
        """Return whether it is correct and more than `p` times as fast as the reference.

        The lower end of the ratio's interval decides. For p = 0 only correctness counts.
        """
        return self._exceeds(p, None if self.ratio is None else self.ratio.low)

    def is_naively_fast(self, p: float) -> bool:
        """Return whether it is correct and its ratio, without its interval, is more than `p`."""
        return self._exceeds(p, None if self.ratio is None else self.ratio.value)

    def _exceeds(self, p: float, ratio: float | None) -> bool:
        if self.outcome is not GenerationOutcome.CORRECT:
            return False
        return p <= 0 or (ratio is not None and ratio > p)


MISSING = EvaluatedSample(GenerationOutcome.MISSING)
NOT_EVALUATED = EvaluatedSample(GenerationOutcome.NOT_EVALUATED)
Problems = Mapping[tuple[str, int], Sequence[EvaluatedSample]]


@dataclass(frozen=True)
class FastShare:
    """The share of problems whose sample 0 is fast: by the ratios' lower ends, and naively."""

    p: float
    certain: Interval
    naive: Interval


@dataclass(frozen=True)
class AtK:
    """The expected value for k samples: a correct one if `p` is None, else a fast one."""

    k: int
    p: float | None
    share: Interval


@dataclass(frozen=True)
class Figures:
    """All figures of some problems.

    Shares and the curve have Wilson intervals; what is at k has bootstrap intervals over problems;
    the geometric mean is of the ratios of the correct, with the interval of their measurement.
    """

    problems: int
    samples: int
    compiled: Interval
    correct: Interval
    fast: tuple[FastShare, ...]
    at_k: tuple[AtK, ...]
    mean_ratio: Interval | None
    without_ratio: int
    outcomes: Mapping[GenerationOutcome, int]
    curve: tuple[tuple[float, Interval], ...]


def group_samples(
    evaluations: Sequence[Evaluation],
    planned: Mapping[str, Sequence[int]],
    count: int,
    baseline: str,
    written: Collection[tuple[str, int, int]] = (),
) -> dict[tuple[str, int], list[EvaluatedSample]]:
    """Return the `count` samples of every planned problem.

    Samples without an evaluation are not evaluated if they are among `written`, by level, problem
    and number, and missing if not.
    """
    known = dict.fromkeys(written, NOT_EVALUATED)
    known |= {
        (each.place.level, each.place.problem, each.place.sample): EvaluatedSample(
            _classify_stored(each),
            compute_ratio(each, baseline),
            task=each.task,
            message=each.message,
        )
        for each in evaluations
    }
    return {
        (level, problem): [known.get((level, problem, i), MISSING) for i in range(count)]
        for level, problems in planned.items()
        for problem in problems
    }


def _classify_stored(evaluation: Evaluation) -> GenerationOutcome:
    """Return the class of a stored evaluation, which an earlier version may have written.

    Earlier versions stored candidates whose result is MLX's own as correct, with a message.
    """
    if evaluation.message.startswith(OWN_WORK_MISSING):
        return GenerationOutcome.NOT_OWN
    return GenerationOutcome(evaluation.outcome)


def compute_figures(
    problems: Problems, thresholds: Sequence[float] = THRESHOLDS, ks: Sequence[int] = (1,)
) -> Figures:
    """All figures of `problems`, each with the same number of samples, at least one.

    Raises ValueError for a k that is more than the samples of a problem.
    """
    first = [samples[0] for samples in problems.values()]
    ratios = [
        each.ratio
        for each in first
        if each.outcome is GenerationOutcome.CORRECT
        and each.ratio is not None
        and _is_usable(each.ratio)
    ]
    correct = sum(each.outcome is GenerationOutcome.CORRECT for each in first)
    return Figures(
        problems=len(problems),
        samples=sum(len(samples) for samples in problems.values()),
        compiled=wilson_interval(sum(each.outcome.has_compiled for each in first), len(first)),
        correct=wilson_interval(correct, len(first)),
        fast=tuple(_compute_fast_share(first, p) for p in thresholds),
        at_k=tuple(
            _compute_at_k(problems, k, p) for k in ks for p in (None, *_above_zero(thresholds))
        ),
        mean_ratio=geometric_mean(ratios) if ratios else None,
        without_ratio=correct - len(ratios),
        outcomes=Counter(each.outcome for samples in problems.values() for each in samples),
        curve=tuple((p, _compute_fast_share(first, p).certain) for p in CURVE),
    )


def _is_usable(ratio: Interval) -> bool:
    return ratio.is_bounded and ratio.low > 0


def _above_zero(thresholds: Sequence[float]) -> list[float]:
    return [p for p in thresholds if p > 0]


def _compute_fast_share(first: Sequence[EvaluatedSample], p: float) -> FastShare:
    return FastShare(
        p,
        wilson_interval(sum(each.is_fast(p) for each in first), len(first)),
        wilson_interval(sum(each.is_naively_fast(p) for each in first), len(first)),
    )


def _compute_at_k(problems: Problems, k: int, p: float | None) -> AtK:
    return AtK(k, p, _estimate_share(problems, k, p or 0.0))


def _estimate_share(problems: Problems, k: int, p: float) -> Interval:
    """The mean over problems of the chance that of k samples one is fast for `p`."""
    return bootstrap_mean(
        [pass_at_k(len(each), sum(one.is_fast(p) for one in each), k) for each in problems.values()]
    )
