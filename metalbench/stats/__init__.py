"""Statistics of timings: numpy and scipy only, knows nothing of kernels or devices."""

from metalbench.stats.autocorrelation import autocorrelation_time, effective_count
from metalbench.stats.blocks import BlockRange, block_range
from metalbench.stats.clock import clock_grain
from metalbench.stats.crosscheck import CrossCheck, cross_check
from metalbench.stats.discovery import FALSE_DISCOVERY_RATE, discoveries, surviving_verdicts
from metalbench.stats.drift import Drift, find_drift
from metalbench.stats.interval import CONFIDENCE, Interval
from metalbench.stats.judgement import Judgement, assess, assess_suite
from metalbench.stats.location import FEWEST_FAR, far_apart
from metalbench.stats.median import median_interval
from metalbench.stats.modes import Mode, find_modes
from metalbench.stats.ratio import log_ratios, ratio_interval, ratio_p_value
from metalbench.stats.reasons import Cause, Reason, throttled
from metalbench.stats.shares import bootstrapped, pass_at_k, wilson
from metalbench.stats.spread import outliers, spread_ratio, stability
from metalbench.stats.stopping import StoppingRule
from metalbench.stats.suite import geometric_mean
from metalbench.stats.verdict import MARGIN, Verdict, judge

__all__ = [
    "CONFIDENCE",
    "FALSE_DISCOVERY_RATE",
    "FEWEST_FAR",
    "MARGIN",
    "BlockRange",
    "Cause",
    "CrossCheck",
    "Drift",
    "Interval",
    "Judgement",
    "Mode",
    "Reason",
    "StoppingRule",
    "Verdict",
    "assess",
    "assess_suite",
    "autocorrelation_time",
    "block_range",
    "bootstrapped",
    "clock_grain",
    "cross_check",
    "discoveries",
    "effective_count",
    "far_apart",
    "find_drift",
    "find_modes",
    "geometric_mean",
    "judge",
    "log_ratios",
    "median_interval",
    "outliers",
    "pass_at_k",
    "ratio_interval",
    "ratio_p_value",
    "spread_ratio",
    "stability",
    "surviving_verdicts",
    "throttled",
    "wilson",
]
