"""Timing of a kernel against its reference: what to sample, when to stop, what it amounts to."""

from metalbench.measure.measurement import Measurement, Stopped
from metalbench.measure.own_clock import OwnClock
from metalbench.measure.plan import Plan
from metalbench.measure.sampling import SampleSet, measure

__all__ = ["Measurement", "OwnClock", "Plan", "SampleSet", "Stopped", "measure"]
