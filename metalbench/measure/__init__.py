"""Timing of a kernel against its reference: what to sample, when to stop, what it amounts to."""

from metalbench.measure.measurement import ByWall, FormTime, Measurement, StopReason
from metalbench.measure.own_clock import OwnClock
from metalbench.measure.plan import Mode, Plan
from metalbench.measure.samples import SampleSet
from metalbench.measure.sampling import measure
from metalbench.measure.series import Sides
from metalbench.measure.slope import Slope
from metalbench.measure.steadiness import Steadiness

__all__ = [
    "ByWall",
    "FormTime",
    "Measurement",
    "Mode",
    "OwnClock",
    "Plan",
    "SampleSet",
    "Sides",
    "Slope",
    "Steadiness",
    "StopReason",
    "measure",
]
