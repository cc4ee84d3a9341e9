"""The ratio of two times that were taken in different runs, where nothing was paired."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from metalbench.stats.interval import CONFIDENCE, Interval
from metalbench.stats.judgement import Judgement
from metalbench.stats.reasons import Cause, Reason, undecided
from metalbench.stats.verdict import MARGIN, Verdict, judge

# The median of a squared standard normal variable.
CHI_SQUARED = 0.4549
# Runs of one program differ by about so much where it was looked at: by where its memory lies, by
# the temperature, by what else runs.
ASSUMED_DEVIATION = 0.01
# Fewer differences of two runs say too little of how small their spread is.
ENOUGH_REPEATS = 4


@dataclass(frozen=True, slots=True)
class RunSpread:
    """Standard deviation between logarithms of runs of one program, beyond their own intervals.

    `repeats` is from how many differences of a run and the next it is known. With fewer than four
    it is not taken for less than 1 %.
    """

    deviation: float = ASSUMED_DEVIATION
    repeats: int = 0

    @property
    def assumed(self) -> bool:
        """Whether it is, or may be, no more than an assumption."""
        return self.repeats < ENOUGH_REPEATS


# What is known of something that was never repeated.
UNREPEATED = RunSpread()


def assess_apart(
    reference: Interval,
    candidate: Interval,
    *,
    between: RunSpread | None = None,
    tries: int = 1,
    margin: float = MARGIN,
) -> Judgement:
    """Judge reference / candidate from the two intervals alone.

    On the log scale the errors of the two are independent, so that half-widths add as squares, each
    side of the interval for itself. What is kept of a `Judgement` are its verdict, ratio, reasons
    and p-value; the rest takes pairs.

    Parameters
    ----------
    reference, candidate
        Positive quantities, with intervals of `CONFIDENCE`.
    between
        How much runs of one program differ, from `spread_between`; None for what is no runs'.
    tries
        From how many the reference was picked for its value. The interval is as wide as all of
        them need together.
    margin
        Differences below this are of no use to anybody.

    References
    ----------
    C. Bonferroni (1936): the price of picking.
    """
    from scipy.special import ndtr, ndtri  # type: ignore[import-untyped,unused-ignore]

    value = reference.value / candidate.value
    if not (reference.bounded and candidate.bounded and min(reference.low, candidate.low) > 0):
        ratio = Interval(value, -math.inf, math.inf)
        return _judgement(ratio, 1.0, margin, None)
    usual, picked = (float(-ndtri((1.0 - CONFIDENCE) / 2.0 / count)) for count in (1, tries))
    runs = math.sqrt(2.0) * between.deviation * usual if between is not None else 0.0
    own = (
        math.hypot(
            math.log(reference.value / reference.low), math.log(candidate.high / candidate.value)
        ),
        math.hypot(
            math.log(reference.high / reference.value), math.log(candidate.value / candidate.low)
        ),
    )
    below, above = (math.hypot(each, runs) for each in own)
    logarithm = math.log(value)
    beyond = logarithm - math.log1p(margin) if value > 1.0 else math.log1p(-margin) - logarithm
    deviation = (below if value > 1.0 else above) / usual
    z = beyond / deviation if deviation else math.copysign(math.inf, beyond)
    p_value = min(1.0, 2.0 * tries * float(ndtr(-z)))
    wider = picked / usual
    ratio = Interval(
        value, math.exp(logarithm - wider * below), math.exp(logarithm + wider * above)
    )
    return _judgement(ratio, p_value, margin, between if runs > max(own) else None)


def spread_between(groups: Sequence[Sequence[Interval]]) -> RunSpread:
    """How much runs that measured the same differ.

    Two runs of one program differ by more than their intervals say: by where its memory lies, by
    the temperature, by what else runs. A change of the machine that stays is no such scatter: only
    each run and the next count, and of their differences the median.

    Parameters
    ----------
    groups
        In each the same quantity from several runs, in order; groups of one say nothing.

    Returns
    -------
    What the intervals leave unexplained, down to 0; but where little was repeated, at least what is
    assumed of any program.

    References
    ----------
    J. von Neumann, "Distribution of the ratio of the mean square successive difference to the
    variance", Ann. Math. Statist. 12 (1941): why successive differences.
    """
    from scipy.special import ndtri  # type: ignore[import-untyped,unused-ignore]

    usual = float(ndtri(0.5 + CONFIDENCE / 2.0))
    squares, within = [], []
    for group in groups:
        known = [each for each in group if each.bounded and each.low > 0]
        for one, other in pairwise(known):
            squares.append(0.5 * math.log(one.value / other.value) ** 2)
            widths = [math.log(each.high / each.low) / (2.0 * usual) for each in (one, other)]
            within.append(0.5 * (widths[0] ** 2 + widths[1] ** 2))
    if not squares:
        return UNREPEATED
    beyond = float(np.median(squares)) / CHI_SQUARED - float(np.median(within))
    least = ASSUMED_DEVIATION if len(squares) < ENOUGH_REPEATS else 0.0
    return RunSpread(max(math.sqrt(max(beyond, 0.0)), least), len(squares))


def _judgement(
    ratio: Interval, p_value: float, margin: float, between: RunSpread | None
) -> Judgement:
    verdict = judge(ratio, margin)
    reasons: tuple[Reason, ...] = ()
    if verdict is Verdict.INCONCLUSIVE:
        reasons = (undecided(ratio, margin) if between is None else _runs_differ(ratio, between),)
    return Judgement(
        verdict=verdict,
        ratio=ratio,
        reasons=reasons,
        p_value=p_value,
        effective_pairs=0.0,
        drift=None,
        modes=(),
        cross_check=None,
    )


def _runs_differ(ratio: Interval, between: RunSpread) -> Reason:
    """The interval is as wide as it is because runs differ, not because samples are few."""
    known = "is assumed, for it was run too seldom" if between.assumed else "its earlier runs show"
    return Reason(
        Cause.RUNS,
        f"runs of one program differ by {between.deviation:.1%} (as {known}), which leaves "
        f"{ratio.low:.3f} to {ratio.high:.3f} possible",
        "`metalbench compare NAME@REVISION` runs both in turn; several runs of each tell how much "
        "they differ",
    )
