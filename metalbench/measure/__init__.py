"""Timing of a kernel against its reference: what to sample, when to stop, what it amounts to."""

from metalbench.measure.measurement import Measurement, Stopped
from metalbench.measure.plan import Plan
from metalbench.measure.sampling import SampleSet, measure

__all__ = ["Measurement", "Plan", "SampleSet", "Stopped", "measure"]
