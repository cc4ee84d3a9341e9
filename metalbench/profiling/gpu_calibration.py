"""The parameters of the timing model that no source gives, fitted on public records.

`benchmarks/apple_model.py` fits them and measures the errors with tasks left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from metalbench.profiling.gpu_timing import Parameters

# The share of errors in the interval of a prediction.
COVERAGE = 0.9
# The standard deviation of the logarithm of the ratio of two variants, on records of an M1 Pro.
_PAIR_SPREAD = 0.419


@dataclass(frozen=True)
class Calibration:
    """Parameters with the quantiles of their errors on tasks that were left out of the fit.

    `low` and `high` are logarithms of measured / predicted between which the share COVERAGE lies.
    `pair_spread` is the standard deviation of the logarithm of the ratio of two variants of a task.
    """

    parameters: Parameters
    low: float
    high: float
    pair_spread: float
    source: str


# Fitted: scheduling, norm, dispatch_s and command_buffer_s. Others moved little from their nominal
# values; those that are not given have them.
CALIBRATION = Calibration(
    Parameters(
        alu_latency=1.53,
        scheduling=0.126,
        l2_latency=254,
        private_latency=147,
        barrier_latency=30.1,
        issue=1.31,
        complex=0.999,
        data_path=0.989,
        l2_link=0.98,
        private_link=0.998,
        bank=1.01,
        threadgroup_start=99.9,
        slc=0.997,
        norm=1.48,
        dispatch_s=9.67e-06,
        command_buffer_s=4.25e-06,
    ),
    low=-0.813,
    high=1.343,
    pair_spread=_PAIR_SPREAD,
    source="486 records of variants of six tasks on an M1 Pro; other chips are not validated",
)
# For works from counts of the source (counted_work.py). All given parameters are fitted, as counts
# stand for other quantities; the spread of pairs is that of CALIBRATION.
COUNTED_CALIBRATION = Calibration(
    Parameters(
        alu_latency=0.441,
        l1_latency=27.1,
        l2_latency=176,
        threadgroup_latency=32.8,
        barrier_latency=27.4,
        issue=0.253,
        complex=0.257,
        data_path=0.907,
        l2_link=0.927,
        bank=0.643,
        threadgroup_start=666,
        slc=0.853,
        norm=11.2,
        dispatch_s=1.72e-06,
        command_buffer_s=3.62e-06,
    ),
    low=-0.458,
    high=0.695,
    pair_spread=_PAIR_SPREAD,
    source="counts and times of 67 kernels on an M2; other chips are not validated",
)
