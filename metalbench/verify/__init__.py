"""Verify kernels: results against a float64 oracle, memory accesses, repeatability, all sizes."""

from metalbench.kind import Kind
from metalbench.verify.checked import verify_checked, verify_checked_as_timed
from metalbench.verify.flow import (
    TIME_LIMIT,
    VerifyPlan,
    all_sizes,
    seeds_for,
    small_sizes,
    verify,
    verify_compiled,
)
from metalbench.verify.place import FindingPlace, place_of
from metalbench.verify.same_work import verify_same_work
from metalbench.verify.verdict import Comparison, Finding, Report, merge_reports

__all__ = [
    "TIME_LIMIT",
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
