"""Whole measurements of known kernels: pairs in random order, looks, limit and verdict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from noise import Noise

from metalbench.stats import (
    Interval,
    Judgement,
    StoppingRule,
    Verdict,
    assess,
    median_interval,
)

# What float64 logarithms leave.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Outcome:
    judgement: Judgement
    candidate: Interval
    pairs: int
    precise: bool


def measurement(noise: Noise, ratio: float, limit: int, seed: int) -> Outcome:
    """Look at 128, 192, 288, ... pairs until they are enough, or time is up after `limit` pairs."""
    reference, candidate, *_ = noise.pairs(np.random.default_rng(seed), limit, ratio)
    rule = StoppingRule()
    taken, stop = 0, False
    while not stop and taken < limit:
        taken = min(rule.next_analysis(taken), limit)
        stop = rule.analyse(candidate[:taken], reference[:taken] / candidate[:taken])
    judgement = assess(reference[:taken], candidate[:taken])
    return Outcome(judgement, median_interval(candidate[:taken]), taken, stop)


@dataclass(frozen=True)
class Tally:
    """Fractions of trials: interval covers the true ratio, is one at all, and each verdict."""

    covered: float
    bounded: float
    faster: float
    slower: float
    same: float
    precise: float
    pairs: float
    covered_candidate: float

    @classmethod
    def of(cls, noise: Noise, ratio: float, limit: int, trials: int, first: int = 0) -> Tally:
        """Outcomes of `trials` measurements with a seed each."""
        outcomes = [measurement(noise, ratio, limit, first + seed) for seed in range(trials)]

        def part(verdict: Verdict) -> float:
            return sum(outcome.judgement.verdict is verdict for outcome in outcomes) / trials

        def covers(interval: Interval, truth: float) -> bool:
            return interval.low * (1 - ROUNDING) <= truth <= interval.high * (1 + ROUNDING)

        return cls(
            covered=sum(covers(each.judgement.ratio, ratio) for each in outcomes) / trials,
            bounded=sum(outcome.judgement.ratio.is_bounded for outcome in outcomes) / trials,
            faster=part(Verdict.FASTER),
            slower=part(Verdict.SLOWER),
            same=part(Verdict.SAME),
            precise=sum(outcome.precise for outcome in outcomes) / trials,
            pairs=sum(outcome.pairs for outcome in outcomes) / trials,
            covered_candidate=sum(covers(each.candidate, noise.median_ns) for each in outcomes)
            / trials,
        )
