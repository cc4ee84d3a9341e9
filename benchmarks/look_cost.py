"""What one look at 10 000 pairs costs, method by method.

    python benchmarks/look_cost.py

Correlated log-normal times (AR(1), rho 0.8, 2 %), other ones at every call. Against scipy's own
bootstrap of the same median ratio. Medians of repeated calls, in ms of processor time. The last
line but one is what all looks at a measurement of the most pairs cost together, which take at least
8 s to sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from time import process_time

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.stats import bootstrap

from metalbench import stats
from metalbench.measure.measurement import Plan

PAIRS = 10_000
MOST = Plan().max_pairs
LOOK_PAIRS = Plan().batch_pairs
RHO = 0.8
LIMIT_MS = 20.0

Times = NDArray[np.float64]


def milliseconds(method: Callable[[Times, Times], object], repeats: int) -> float:
    noise = np.random.default_rng(0).normal(size=(2, PAIRS + repeats))
    series = lfilter([math.sqrt(1 - RHO * RHO)], [1, -RHO], noise, axis=1)
    times = 1e4 * np.exp(0.02 * series)
    spent = []
    for call in range(repeats):
        reference, candidate = times[:, call : call + PAIRS]
        start = process_time()
        method(reference, candidate)
        spent.append(process_time() - start)
    return 1e3 * float(np.median(spent))


def everything(reference: Times, candidate: Times) -> None:
    look(stats.StoppingRule(), reference, candidate)
    stats.median_interval(candidate)
    stats.median_interval(reference)
    stats.find_modes(np.log(candidate))
    stats.find_outliers(candidate)
    stats.stability(candidate)


def look(rule: stats.StoppingRule, reference: Times, candidate: Times) -> bool:
    number = np.arange(candidate.size) // LOOK_PAIRS
    judgement = stats.assess(reference, candidate, batch=number)
    return rule.analyse(candidate, reference / candidate, judgement=judgement)


def every_look(reference: Times, candidate: Times) -> None:
    rule, taken = stats.StoppingRule(), 0
    while taken < MOST:
        taken = min(rule.next_analysis(taken), MOST)
        look(rule, reference[:taken], candidate[:taken])


METHODS: dict[str, Callable[[Times, Times], object]] = {
    "effective count": lambda reference, candidate: stats.effective_sample_size(candidate),
    "median": lambda reference, candidate: stats.median_interval(candidate),
    "ratio": stats.ratio_interval,
    "drift": lambda reference, candidate: stats.find_drift(np.log(candidate)),
    "modes": lambda reference, candidate: stats.find_modes(np.log(candidate)),
    "cross-check": lambda reference, candidate: stats.cross_check(np.log(reference / candidate)),
    "judgement and stopping rule": lambda reference, candidate: look(
        stats.StoppingRule(), reference, candidate
    ),
    "all of it, and the summary": everything,
}


def main() -> None:
    for name, method in METHODS.items():
        print(f"{name:28} {milliseconds(method, 30):8.2f} ms", flush=True)
    print(f"{'limit of all of it':28} {LIMIT_MS:8.2f} ms")
    print(f"{f'every look up to {MOST} pairs':28} {milliseconds(every_look, 5):8.2f} ms")
    other = milliseconds(lambda ours, theirs: bootstrap((np.log(ours / theirs),), np.median), 1)
    print(f"{'scipy.stats.bootstrap':28} {other:8.2f} ms")


if __name__ == "__main__":
    main()
