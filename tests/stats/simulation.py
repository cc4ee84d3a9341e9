"""Whole measurements of known kernels: noise, pairs in random order, looks, limit and verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtri

from metalbench.stats import (
    Interval,
    Judgement,
    StoppingRule,
    Verdict,
    assess,
    median_interval,
)

SETTLING = 400
# No whole number of anybody's ticks.
BASE_NS = 1_001_300.0
# What float64 logarithms leave.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Noise:
    """How the logarithm of a time moves from one sample to the next.

    `rho` and `spread` are an AR(1) process's correlation and standard deviation, `drift` the step
    of a random walk. `slow_share` of the time goes by in a mode that takes `slow` times as long,
    `dwell` samples at a stretch. `tick_ns` is the clock's. With `own`, candidate and reference
    have a process each, so that pairing does not help.
    """

    rho: float = 0.0
    spread: float = 0.02
    drift: float = 0.0
    slow_share: float = 0.0
    slow: float = 1.1
    dwell: float = 50.0
    tick_ns: float = 0.0
    own: bool = False

    @property
    def median_ns(self) -> float:
        """True median of the candidate, of modes that do not overlap."""
        return BASE_NS * math.exp(self.spread * float(ndtri(0.5 / (1.0 - self.slow_share))))

    def series(self, random: np.random.Generator, count: int) -> np.ndarray:
        """Logarithms of `count` samples in a row."""
        fresh = random.normal(size=count + SETTLING)
        step = math.sqrt(1.0 - self.rho**2)
        noise = self.spread * lfilter([step], [1.0, -self.rho], fresh)[SETTLING:]
        if self.drift:
            noise += np.cumsum(random.normal(0.0, self.drift, count))
        if self.slow_share:
            noise += math.log(self.slow) * self._slow(random, count)
        return noise

    def _slow(self, random: np.random.Generator, count: int) -> np.ndarray:
        """1 where the sample is in the slow mode."""
        stays = np.cumsum(random.random(count) < 1.0 / self.dwell)
        return (random.random(stays[-1] + 1) < self.slow_share)[stays].astype(float)

    def pairs(
        self, random: np.random.Generator, count: int, ratio: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Times of reference and candidate; the true median ratio is `ratio`.

        In each pair one is sampled right after the other, the coin says which first.
        """
        first = random.integers(2, size=count)
        slots = 2 * np.arange(count)
        ours = self.series(random, 2 * count)
        theirs = self.series(random, 2 * count) if self.own else ours
        candidate = BASE_NS * np.exp(ours[slots + first])
        reference = BASE_NS * ratio * np.exp(theirs[slots + 1 - first])
        return self._read(random, reference), self._read(random, candidate)

    def _read(self, random: np.random.Generator, times: np.ndarray) -> np.ndarray:
        """What a clock shows that only its ticks move."""
        if not self.tick_ns:
            return times
        phase = random.random(times.size)
        return self.tick_ns * np.floor(times / self.tick_ns + phase)


@dataclass(frozen=True)
class Outcome:
    judgement: Judgement
    candidate: Interval
    pairs: int
    precise: bool


def measurement(noise: Noise, ratio: float, limit: int, seed: int) -> Outcome:
    """Look at 64, 128, 256, ... pairs until they are enough, or time is up after `limit` pairs."""
    reference, candidate = noise.pairs(np.random.default_rng(seed), limit, ratio)
    rule = StoppingRule()
    taken, stop = 0, False
    while not stop and taken < limit:
        taken = min(rule.next_look(taken), limit)
        stop = rule.look(candidate[:taken], reference[:taken] / candidate[:taken])
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
            bounded=sum(outcome.judgement.ratio.bounded for outcome in outcomes) / trials,
            faster=part(Verdict.FASTER),
            slower=part(Verdict.SLOWER),
            same=part(Verdict.SAME),
            precise=sum(outcome.precise for outcome in outcomes) / trials,
            pairs=sum(outcome.pairs for outcome in outcomes) / trials,
            covered_candidate=sum(covers(each.candidate, noise.median_ns) for each in outcomes)
            / trials,
        )
