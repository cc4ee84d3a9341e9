"""The geometric mean of a suite's ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.interval import CONFIDENCE, Interval, Verdict


def geometric_mean(ratios: Sequence[Interval]) -> Interval:
    """Return the geometric mean of ratios with the interval of its measurement error.

    The tasks are fixed, not a sample of all possible tasks: only the errors of measurement count.
    These are independent, so on the log scale the half-width of the mean is the root of the sum of
    squares of the half-widths, divided by their number. Lower and upper sides are separate, as
    intervals of ratios need not be symmetric.

    Parameters
    ----------
    ratios
        Positive ratios with bounded intervals of one confidence, at least one.

    Raises
    ------
    ValueError
        For no ratios, or a ratio that is not positive or not bounded.

    References
    ----------
    P. Fleming and J. Wallace, "How not to lie with statistics: the correct way to summarize
    benchmark results", CACM 29 (1986): the use of the geometric mean.
    """
    if not ratios:
        raise ValueError("geometric_mean: expected at least one ratio, got none")
    if any(not ratio.is_bounded or ratio.low <= 0 for ratio in ratios):
        raise ValueError("geometric_mean: expected positive ratios with bounded intervals")
    centre = sum(math.log(ratio.value) for ratio in ratios) / len(ratios)
    below = math.hypot(*(math.log(ratio.value / ratio.low) for ratio in ratios)) / len(ratios)
    above = math.hypot(*(math.log(ratio.high / ratio.value) for ratio in ratios)) / len(ratios)
    return Interval(math.exp(centre), math.exp(centre - below), math.exp(centre + above))


# Control the false discovery rate among the verdicts of a suite.

# The expected share of chance among all differences that a suite reports is at most this.
FALSE_DISCOVERY_RATE = 0.05


def benjamini_hochberg(
    p_values: Sequence[float], rate: float = FALSE_DISCOVERY_RATE
) -> NDArray[np.bool_]:
    """Return which of independent tests are significant together, shape (n,).

    References
    ----------
    Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", J. R. Statist. Soc. B 57
    (1995): all p-values up to the largest that is at most rank / n of `rate`.
    """
    values = np.asarray(p_values, dtype=np.float64)
    ordered = np.sort(values)
    passing = ordered[ordered <= rate * np.arange(1, values.size + 1) / values.size]
    return np.asarray(values <= (passing[-1] if passing.size else -1.0), dtype=np.bool_)


def control_false_discoveries(
    verdicts: Sequence[Verdict],
    p_values: Sequence[float],
    rate: float = FALSE_DISCOVERY_RATE,
) -> list[Verdict]:
    """Return a suite's verdicts, with differences that are not significant together INCONCLUSIVE.

    Parameters
    ----------
    verdicts, p_values
        One of each for every task, the p-values as from `ratio_p_value`.

    Raises
    ------
    ValueError
        If the lengths differ.
    """
    if len(verdicts) != len(p_values):
        raise ValueError(
            f"control_false_discoveries: expected a p-value for each of {len(verdicts)} verdicts, "
            f"got {len(p_values)}"
        )
    differences = (Verdict.FASTER, Verdict.SLOWER)
    return [
        Verdict.INCONCLUSIVE if verdict in differences and not survives else verdict
        for verdict, survives in zip(verdicts, benjamini_hochberg(p_values, rate), strict=True)
    ]


# Shares of problems and of samples with intervals, and pass@k.

RESAMPLES = 2000


def wilson_interval(successes: int, total: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the share of successes with Wilson's score interval; unbounded for no trials.

    Raises ValueError for more successes than trials.

    References
    ----------
    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
    (1927).
    """
    from scipy.stats import binomtest  # type: ignore[import-untyped,unused-ignore]

    if not total:
        return Interval(math.nan, -math.inf, math.inf)
    found = binomtest(successes, total).proportion_ci(confidence, method="wilson")
    share = successes / total
    # Rounding may put an end of the interval past the share itself, if no or all trials succeed.
    return Interval(share, min(share, float(found.low)), max(share, float(found.high)))


def bootstrap_mean(
    values: Sequence[float], confidence: float = CONFIDENCE, *, seed: int = 0
) -> Interval:
    """Return the mean of one value a problem, with a percentile bootstrap interval over problems.

    Problems are resampled, because samples of one problem are not independent. The same seed gives
    the same interval. For fewer than two values it is unbounded.

    References
    ----------
    B. Efron and R. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13.
    """
    from scipy.stats import bootstrap  # type: ignore[import-untyped,unused-ignore]

    array = np.asarray(values, float)
    if array.size < 2:
        return Interval(float(array.mean()) if array.size else math.nan, -math.inf, math.inf)
    found = bootstrap(
        (array,),
        np.mean,
        n_resamples=RESAMPLES,
        confidence_level=confidence,
        method="percentile",
        random_state=np.random.default_rng(seed),
    ).confidence_interval
    mean = float(array.mean())
    return Interval(mean, min(mean, float(found.low)), max(mean, float(found.high)))


def pass_at_k(samples: int, successes: int, k: int) -> float:
    """Return the probability that at least one of k samples, drawn without replacement, succeeds.

    The unbiased estimate 1 - C(n - c, k) / C(n, k). Raises ValueError for more successes than
    samples, and for k above the number of samples.

    References
    ----------
    M. Chen et al., "Evaluating large language models trained on code", arXiv:2107.03374 (2021).
    """
    if not 0 <= successes <= samples or not 1 <= k <= samples:
        raise ValueError(
            f"pass_at_k: expected successes <= samples and 1 <= k <= samples, got {successes} of "
            f"{samples} and k = {k}"
        )
    return 1.0 - math.comb(samples - successes, k) / math.comb(samples, k)
