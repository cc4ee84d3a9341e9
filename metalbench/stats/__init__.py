"""Statistics of timings: verdicts of ratios, intervals, series, suites.

Depends on numpy and scipy only. Knows nothing of kernels or devices.
"""

from metalbench.stats.interval import CONFIDENCE, FARTHEST, MARGIN, Interval, Verdict, judge
from metalbench.stats.judgement import (
    Cause,
    Judgement,
    Reason,
    assess,
    assess_suite,
    explain_throttling,
)
from metalbench.stats.location import LARGE_EFFECT_PAIRS, is_large_effect, median_interval
from metalbench.stats.pairs import (
    CrossCheck,
    cross_check,
    find_outliers,
    log_ratios,
    ratio_interval,
    ratio_p_value,
    spread_ratio,
    stability,
)
from metalbench.stats.series import (
    BlockRange,
    DistributionMode,
    Drift,
    autocorrelation_time,
    clock_resolution,
    effective_sample_size,
    find_drift,
    find_modes,
)
from metalbench.stats.stopping import StoppingRule
from metalbench.stats.suites import (
    FALSE_DISCOVERY_RATE,
    benjamini_hochberg,
    bootstrap_mean,
    control_false_discoveries,
    geometric_mean,
    pass_at_k,
    wilson_interval,
)

__all__ = [
    "CONFIDENCE",
    "FALSE_DISCOVERY_RATE",
    "FARTHEST",
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
