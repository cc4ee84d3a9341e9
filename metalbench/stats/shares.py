"""Shares of problems and of samples with intervals, and pass@k."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from metalbench.stats.interval import CONFIDENCE, Interval

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
