"""Probabilities and quantiles of the few distributions that judging needs.

They agree with scipy.special to ten digits, of thousands of values as well. To import that takes a
process longer than to verify a small kernel, and every kernel is judged in a process of its own.

References
----------
M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions" (1964): 26.2.23, a normal
quantile to begin with; 26.5, the others by the incomplete beta function, and its continued fraction
26.5.8, which is evaluated by W. J. Lentz, Applied Optics 15 (1976).
"""

from __future__ import annotations

import math
from functools import lru_cache

# Where a continued fraction and a search by Newton's rule end, relatively.
_PRECISION = 1e-15
# Of coins so many tosses are counted, for what is half for sure is to be half.
_EXACT_COUNT = 128
_MOST_STEPS = 10_000
_TINY = 1e-300


def normal_cdf(z: float) -> float:
    """Probability that a standard normal value is at most `z`."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


@lru_cache(maxsize=256)
def normal_quantile(p: float) -> float:
    """The z with `normal_cdf(z) == p`; infinite for 0 and 1. Raises ValueError beyond them."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"p: expected a probability, got {p}")
    if p in (0.0, 0.5, 1.0):
        return {0.0: -math.inf, 0.5: 0.0, 1.0: math.inf}[p]
    if p > 0.5:
        return -normal_quantile(1.0 - p)
    t = math.sqrt(-2.0 * math.log(p))
    above = 2.515517 + t * (0.802853 + t * 0.010328)
    z = above / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t
    for _ in range(3):  # Halley's rule triples the digits, of which there are three
        excess = (normal_cdf(z) - p) * math.sqrt(2.0 * math.pi) * math.exp(0.5 * z * z)
        z -= excess / (1.0 + 0.5 * z * excess)
    return z


def binomial_cdf(most: int, count: int, p: float) -> float:
    """Probability of at most `most` successes of `count` independent trials, each of odds `p`."""
    if most < 0 or most >= count:
        return 0.0 if most < 0 else 1.0
    if p == 0.5 and count <= _EXACT_COUNT:
        return sum(math.comb(count, each) for each in range(most + 1)) / (1 << count)
    return incomplete_beta(count - most, most + 1.0, 1.0 - p)


def f_tail(above: float, below: float, ratio: float) -> float:
    """Probability that F of `above` and `below` degrees of freedom is more than `ratio`."""
    return incomplete_beta(0.5 * below, 0.5 * above, below / (below + above * ratio))


def student_cdf(degrees: float, t: float) -> float:
    """Probability that Student's t of so many degrees of freedom is at most `t`."""
    tail = 0.5 * incomplete_beta(0.5 * degrees, 0.5, degrees / (degrees + t * t))
    return tail if t < 0.0 else 1.0 - tail


@lru_cache(maxsize=256)
def student_quantile(degrees: float, p: float) -> float:
    """The t with `student_cdf(degrees, t) == p`, for p of 0.5 to less than 1; else ValueError."""
    if not 0.5 <= p < 1.0:
        raise ValueError(f"p: expected a probability of 0.5 to less than 1, got {p}")
    logarithm = (
        math.lgamma(0.5 * (degrees + 1.0))
        - math.lgamma(0.5 * degrees)
        - 0.5 * math.log(math.pi * degrees)
    )
    # Beyond the median the distribution is concave, and has more in its tail than a normal one:
    # Newton's rule comes from below and never goes too far.
    t = normal_quantile(p)
    for _ in range(_MOST_STEPS):
        density = math.exp(logarithm - 0.5 * (degrees + 1.0) * math.log1p(t * t / degrees))
        step = (student_cdf(degrees, -t) - (1.0 - p)) / density
        t += step
        if abs(step) <= 1e-12 * max(t, _TINY):
            break
    return t


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function of x from 0 to 1, for positive a and b."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):  # where the fraction converges fast for the complement
        return 1.0 - incomplete_beta(b, a, 1.0 - x)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    logarithm += a * math.log(x) + b * math.log1p(-x)
    return math.exp(logarithm) * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """1 / (1 + d1 / (1 + d2 / (1 + ...))), by Lentz's rule."""
    value = c = 1.0
    d = 0.0
    for m in range(_MOST_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) if m else 0.0
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for term in (even, odd) if m else (odd,):
            d = 1.0 / _not_zero(1.0 + term * d)
            c = _not_zero(1.0 + term / c)
            value *= c * d
        if abs(value - before) <= _PRECISION * abs(value):
            break
    return 1.0 / value


def _not_zero(value: float) -> float:
    return value if value else _TINY
