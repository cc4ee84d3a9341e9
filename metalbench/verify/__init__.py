"""Verify kernels: results against a float64 oracle, memory accesses, repeatability, all sizes."""

from metalbench.finding_kinds import Kind
from metalbench.verify.checked import (
    CheckedPass,
    verify_checked,
    verify_checked_as_timed,
    verify_same_work,
)
from metalbench.verify.flow import (
    TIME_LIMIT,
    VerifyPlan,
    all_sizes,
    seeds_for,
    small_sizes,
    verify,
    verify_compiled,
)
from metalbench.verify.report import (
    Comparison,
    Finding,
    FindingPlace,
    Report,
    merge_reports,
    place_of,
)

__all__ = [
    "TIME_LIMIT",
    "CheckedPass",
    "Comparison",
    "Finding",
    "FindingPlace",
    "Kind",
    "Report",
    "VerifyPlan",
    "all_sizes",
    "merge_reports",
    "place_of",
    "seeds_for",
    "small_sizes",
    "verify",
    "verify_checked",
    "verify_checked_as_timed",
    "verify_compiled",
    "verify_same_work",
]
