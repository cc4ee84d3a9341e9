"""Search for the fastest values of a kernel's tunables on a device."""

from metalbench.tuning.search import (
    TuningCandidate,
    TuningObserver,
    TuningResult,
    TuningSearch,
    tune,
)

__all__ = ["TuningCandidate", "TuningObserver", "TuningResult", "TuningSearch", "tune"]
