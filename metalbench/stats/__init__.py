"""Statistics of timings: verdicts of ratios, intervals, series, suites.

Depends on numpy and scipy only. Knows nothing of kernels or devices.
"""

from metalbench.stats.autocorrelation import autocorrelation_time, effective_sample_size
from metalbench.stats.blocks import BlockRange, block_range
from metalbench.stats.clock import clock_resolution
from metalbench.stats.crosscheck import CrossCheck, cross_check
from metalbench.stats.discovery import (
    FALSE_DISCOVERY_RATE,
    benjamini_hochberg,
    control_false_discoveries,
)
from metalbench.stats.drift import Drift, find_drift
from metalbench.stats.interval import CONFIDENCE, Interval
from metalbench.stats.judgement import Judgement, assess, assess_suite
from metalbench.stats.location import LARGE_EFFECT_PAIRS, is_large_effect
from metalbench.stats.median import median_interval
from metalbench.stats.modes import DistributionMode, find_modes
from metalbench.stats.ratio import log_ratios, ratio_interval, ratio_p_value
from metalbench.stats.reasons import Cause, Reason, explain_throttling
from metalbench.stats.shares import bootstrap_mean, pass_at_k, wilson_interval
from metalbench.stats.spread import find_outliers, spread_ratio, stability
from metalbench.stats.stopping import StoppingRule
from metalbench.stats.suite import geometric_mean
from metalbench.stats.verdict import MARGIN, Verdict, judge

__all__ = [
    "CONFIDENCE",
    "FALSE_DISCOVERY_RATE",
    "LARGE_EFFECT_PAIRS",
    "MARGIN",
    "BlockRange",
    "Cause",
    "CrossCheck",
    "DistributionMode",
    "Drift",
    "Interval",
    "Judgement",
    "Reason",
    "StoppingRule",
    "Verdict",
    "assess",
    "assess_suite",
    "autocorrelation_time",
    "benjamini_hochberg",
    "block_range",
    "bootstrap_mean",
    "clock_resolution",
    "control_false_discoveries",
    "cross_check",
    "effective_sample_size",
    "explain_throttling",
    "find_drift",
    "find_modes",
    "find_outliers",
    "geometric_mean",
    "is_large_effect",
    "judge",
    "log_ratios",
    "median_interval",
    "pass_at_k",
    "ratio_interval",
    "ratio_p_value",
    "spread_ratio",
    "stability",
    "wilson_interval",
]
