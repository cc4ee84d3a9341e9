"""Statistics of timings: numpy and scipy only, knows nothing of kernels or devices."""

from metalbench.stats.autocorrelation import autocorrelation_time, effective_count
from metalbench.stats.interval import CONFIDENCE, Interval, median_interval
from metalbench.stats.ratio import ratio_interval
from metalbench.stats.spread import outliers, stability
from metalbench.stats.suite import geometric_mean
from metalbench.stats.verdict import MARGIN, Verdict, judge

__all__ = [
    "CONFIDENCE",
    "MARGIN",
    "Interval",
    "Verdict",
    "autocorrelation_time",
    "effective_count",
    "geometric_mean",
    "judge",
    "median_interval",
    "outliers",
    "ratio_interval",
    "stability",
]
