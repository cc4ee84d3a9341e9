"""The parameters of the timing model that no source gives, fitted on public records.

`benchmarks/apple_model.py` fits them and measures the errors with tasks left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from metalbench.profiling.gpu_timing import Parameters


@dataclass(frozen=True)
class Calibration:
    """Parameters with the quantiles of their errors on tasks that were left out of the fit.

    `low` and `high` are logarithms of measured / predicted between which 90 % lie. `pair_spread` is
    the standard deviation of the logarithm of the ratio of two variants of a task.
    """

    parameters: Parameters
    low: float
    high: float
    pair_spread: float
    source: str


CALIBRATION = Calibration(Parameters(), -0.9, 0.9, 0.5, "not fitted")
