"""Analyse a measured time: throughput, roofline, scores, occupancy, plausibility."""

from metalbench.analysis.analyse import Analysis, analyse
from metalbench.analysis.occupancy import Occupancy
from metalbench.analysis.plausibility import implausible
from metalbench.analysis.roofline import Peaks, Roofline, roofline
from metalbench.analysis.targets import Scores, Target, scores
from metalbench.analysis.throughput import Throughput, throughput

__all__ = [
    "Analysis",
    "Occupancy",
    "Peaks",
    "Roofline",
    "Scores",
    "Target",
    "Throughput",
    "analyse",
    "implausible",
    "roofline",
    "scores",
    "throughput",
]
