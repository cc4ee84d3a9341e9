"""Judge the ratio of two times from different runs, where samples are not paired."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from metalbench.stats.interval import CONFIDENCE, MARGIN, Interval, Verdict, judge
from metalbench.stats.judgement import Cause, Judgement, Reason, explain_interval

# The median of a squared standard normal variable.
CHI_SQUARED = 0.4549
# Typical observed deviation between runs of one program: memory placement, temperature, other load.
ASSUMED_DEVIATION = 0.01
# With fewer differences of runs the estimate of a small deviation is unreliable.
ENOUGH_REPEATS = 4


@dataclass(frozen=True, slots=True)
class RunSpread:
    """Between-run standard deviation of log times of one program, beyond the runs' own intervals.

    `repeats` is the number of successive differences of runs in the estimate. With fewer than
    `ENOUGH_REPEATS` the deviation is at least `ASSUMED_DEVIATION`.
    """

    deviation: float = ASSUMED_DEVIATION
    repeats: int = 0

    @property
    def is_assumed(self) -> bool:
        """Whether the deviation is, or may be, an assumption."""
        return self.repeats < ENOUGH_REPEATS


# The deviation to assume for a program that was never repeated.
UNREPEATED = RunSpread()


def assess_unpaired(
    reference: Interval,
    candidate: Interval,
    *,
    between: RunSpread | None = None,
    tries: int = 1,
    margin: float = MARGIN,
) -> Judgement:
    """Return the judgement of reference / candidate from the two intervals alone.

    The errors of the two are independent. On the log scale their half-widths add in quadrature,
    separately for the lower and the upper side. Of the `Judgement` only verdict, ratio, reasons and
    p-value are set; the other fields need pairs.

    Parameters
    ----------
    reference, candidate
        Positive quantities, with intervals of `CONFIDENCE`.
    between
        Between-run deviation from `estimate_run_spread`; None if the quantities are not of runs.
    tries
        Number of quantities from which the reference was selected for its value. The interval is
        widened for all of them (Bonferroni).
    margin
        Relative difference below which two times count as equal.

    References
    ----------
    C. Bonferroni, "Teoria statistica delle classi e calcolo delle probabilita" (1936): the
    correction for a selection among several.
    """
    from scipy.special import ndtr, ndtri  # type: ignore[import-untyped,unused-ignore]

    value = reference.value / candidate.value
    bounded = reference.is_bounded and candidate.is_bounded
    if not bounded or min(reference.low, candidate.low) <= 0:
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


def estimate_run_spread(groups: Sequence[Sequence[Interval]]) -> RunSpread:
    """Estimate the standard deviation between runs that measured the same program.

    Two runs differ by more than their intervals show: by the place of the memory, the temperature
    and other load. A lasting change of the machine is not scatter. The estimate therefore uses the
    median of squared differences of successive runs.

    Parameters
    ----------
    groups
        The same quantity from several runs in order, one sequence a program. A group of one run
        contributes nothing.

    Returns
    -------
    The deviation that the intervals do not explain, at least 0. With fewer than `ENOUGH_REPEATS`
    differences it is at least `ASSUMED_DEVIATION`.

    References
    ----------
    J. von Neumann, "Distribution of the ratio of the mean square successive difference to the
    variance", Ann. Math. Statist. 12 (1941): the use of successive differences.
    """
    from scipy.special import ndtri  # type: ignore[import-untyped,unused-ignore]

    usual = float(ndtri(0.5 + CONFIDENCE / 2.0))
    squares, within = [], []
    for group in groups:
        known = [each for each in group if each.is_bounded and each.low > 0]
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
    """Return the judgement of a ratio, with the reason if it is inconclusive."""
    verdict = judge(ratio, margin)
    reasons: tuple[Reason, ...] = ()
    if verdict is Verdict.INCONCLUSIVE:
        reasons = (
            explain_interval(ratio, margin) if between is None else _runs_differ(ratio, between),
        )
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
    """Explain an interval whose width comes from the between-run deviation."""
    known = "assumed, because it has few runs" if between.is_assumed else "its earlier runs show"
    return Reason(
        Cause.RUNS,
        f"runs of one program differ by {between.deviation:.1%} ({known}), which leaves "
        f"{ratio.low:.3f} to {ratio.high:.3f} possible",
        "`metalbench compare NAME@REVISION` runs both in alternation; several runs of each show "
        "how much they differ",
    )
