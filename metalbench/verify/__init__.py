"""Is a kernel right? Against a float64 oracle, within its buffers, every time, on every size."""

from metalbench.verify.flow import SEEDS, TIME_LIMIT, small_sizes, verify, verify_checked
from metalbench.verify.verdict import Comparison, Finding, Kind, Report, merged

__all__ = [
    "SEEDS",
    "TIME_LIMIT",
    "Comparison",
    "Finding",
    "Kind",
    "Report",
    "merged",
    "small_sizes",
    "verify",
    "verify_checked",
]
