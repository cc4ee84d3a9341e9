"""What one look at 10 000 pairs costs, method by method.

    python benchmarks/statistics.py

Correlated log-normal times (AR(1), rho 0.8, 2 %). Against scipy's own bootstrap of the same
median ratio, with as many resamples as the cross-check has. Medians of repeated calls, in ms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter

import numpy as np
from scipy.signal import lfilter
from scipy.stats import bootstrap

from metalbench import stats

PAIRS = 10_000
RHO = 0.8
LIMIT_MS = 20.0
RESAMPLES = 2000


def milliseconds(call: Callable[[], object], repeats: int) -> float:
    call()
    times = []
    for _ in range(repeats):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return 1e3 * float(np.median(times))


def main() -> None:
    noise = np.random.default_rng(0).normal(size=(2, PAIRS))
    series = lfilter([math.sqrt(1 - RHO * RHO)], [1, -RHO], noise, axis=1)
    candidate, reference = 1e4 * np.exp(0.02 * series)
    logarithms = stats.log_ratios(reference, candidate)
    methods: dict[str, Callable[[], object]] = {
        "effective count": lambda: stats.effective_count(candidate),
        "median": lambda: stats.median_interval(candidate),
        "ratio": lambda: stats.ratio_interval(reference, candidate),
        "drift": lambda: stats.find_drift(logarithms),
        "modes": lambda: stats.find_modes(logarithms),
        "cross-check": lambda: stats.cross_check(logarithms),
        "stopping rule": lambda: stats.StoppingRule().look(candidate, reference / candidate),
    }

    def everything() -> None:
        stats.StoppingRule().look(candidate, reference / candidate)
        stats.median_interval(candidate)
        stats.median_interval(reference)
        stats.assess(reference, candidate)
        stats.find_modes(np.log(candidate))
        stats.outliers(candidate)
        stats.stability(candidate)

    for name, call in methods.items():
        print(f"{name:36} {milliseconds(call, 20):8.2f} ms", flush=True)
    print(f"{'a look and the summary, all of it':36} {milliseconds(everything, 20):8.2f} ms")
    other = milliseconds(lambda: bootstrap((logarithms,), np.median, n_resamples=RESAMPLES), 1)
    print(f"{'scipy.stats.bootstrap of the ratio':36} {other:8.2f} ms")
    print(f"{'limit of all of it':36} {LIMIT_MS:8.2f} ms")


if __name__ == "__main__":
    main()
