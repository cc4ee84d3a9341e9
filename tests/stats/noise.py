"""Noise like that of real machines, and pairs of times that it was in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtri

SETTLING = 400
# No whole number of anybody's ticks.
BASE_NS = 1_001_300.0


class Pairs(NamedTuple):
    """Times of both sides, which of them went first, and in which look it was."""

    reference: np.ndarray
    candidate: np.ndarray
    candidate_first: np.ndarray
    look: np.ndarray


@dataclass(frozen=True)
class Process:
    """A process of the logarithm of a time from one sample to the next.

    `rho` and `spread` are an AR(1) process's correlation and standard deviation. With `hurst` it is
    fractional Gaussian noise of that exponent instead, whose correlation dies out so slowly that no
    block is long enough; with `freedom` independent values of Student's t, scaled by `spread`.
    """

    rho: float = 0.0
    spread: float = 0.02
    hurst: float = 0.0
    freedom: float = 0.0

    def series(self, random: np.random.Generator, count: int) -> np.ndarray:
        """Logarithms of `count` samples in a row."""
        if self.hurst:
            return self.spread * fractional_noise(random, count, self.hurst)
        if self.freedom:
            return self.spread * random.standard_t(self.freedom, count)
        fresh = random.normal(size=count + SETTLING)
        step = math.sqrt(1.0 - self.rho**2)
        return self.spread * lfilter([step], [1.0, -self.rho], fresh)[SETTLING:]


@dataclass(frozen=True)
class Noise(Process):
    """A process that both sides share, and what else moves their times.

    `drift` is the step of a random walk. `slow_share` of the time goes by in a mode that takes
    `slow` times as long, `dwell` samples at a stretch. `tick_ns` is the clock's. With `own`,
    candidate and reference have a process each, so that pairing does not help; `alone` is one more
    of the candidate alone, with a step for each pair. Who is second in a pair takes `second` longer
    (a logarithm). In each look of `look_pairs` the candidate has another level, with a standard
    deviation of `level`.
    """

    drift: float = 0.0
    slow_share: float = 0.0
    slow: float = 1.1
    dwell: float = 50.0
    tick_ns: float = 0.0
    own: bool = False
    alone: Process | None = None
    second: float = 0.0
    level: float = 0.0
    look_pairs: int = 32

    @property
    def median_ns(self) -> float:
        """True median of the candidate, of modes that do not overlap."""
        return BASE_NS * math.exp(self.spread * float(ndtri(0.5 / (1.0 - self.slow_share))))

    def series(self, random: np.random.Generator, count: int) -> np.ndarray:
        """Logarithms of `count` samples in a row."""
        noise = Process.series(self, random, count)
        if self.drift:
            noise += np.cumsum(random.normal(0.0, self.drift, count))
        if self.slow_share:
            noise += math.log(self.slow) * self._slow(random, count)
        return noise

    def _slow(self, random: np.random.Generator, count: int) -> np.ndarray:
        """1 where the sample is in the slow mode."""
        stays = np.cumsum(random.random(count) < 1.0 / self.dwell)
        return (random.random(stays[-1] + 1) < self.slow_share)[stays].astype(float)

    def pairs(self, random: np.random.Generator, count: int, ratio: float) -> Pairs:
        """Times of reference and candidate; the true median ratio is `ratio`.

        In each pair one is sampled right after the other, the coin says which first.
        """
        second = random.integers(2, size=count)
        slots = 2 * np.arange(count)
        ours = self.series(random, 2 * count)
        theirs = self.series(random, 2 * count) if self.own else ours
        candidate = ours[slots + second] + self.second * second
        reference = theirs[slots + 1 - second] + self.second * (1 - second)
        look = np.arange(count) // self.look_pairs
        if self.alone is not None:
            candidate += self.alone.series(random, count)
        if self.level:
            candidate += random.normal(0.0, self.level, look[-1] + 1)[look]
        times = [BASE_NS * ratio * np.exp(reference), BASE_NS * np.exp(candidate)]
        return Pairs(*(self._read(random, each) for each in times), second == 0, look)

    def _read(self, random: np.random.Generator, times: np.ndarray) -> np.ndarray:
        """Return the times that a clock shows which only advances by ticks."""
        if not self.tick_ns:
            return times
        phase = random.random(times.size)
        return self.tick_ns * np.floor(times / self.tick_ns + phase)


def fractional_noise(random: np.random.Generator, count: int, hurst: float) -> np.ndarray:
    """Fractional Gaussian noise of unit variance, exactly.

    References
    ----------
    R. B. Davies and D. S. Harte, "Tests for Hurst effect", Biometrika 74 (1987): its covariances,
    laid out in a circle, are those of independent waves.
    """
    lags = np.arange(count + 1.0)
    power = 2.0 * hurst
    covariance = ((lags + 1) ** power - 2 * lags**power + np.abs(lags - 1) ** power) / 2.0
    # Rounding leaves waves of no strength a little below nought.
    strength = np.fft.fft(np.concatenate([covariance, covariance[-2:0:-1]])).real.clip(min=0.0)
    size = strength.size
    waves = random.normal(size=size) + 1j * random.normal(size=size)
    return np.fft.fft(np.sqrt(strength / size) * waves).real[:count]
