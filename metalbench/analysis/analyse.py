"""Analyse a measurement: throughput, roofline and scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from metalbench.analysis.roofline import Peaks, Roofline, roofline
from metalbench.analysis.targets import Scores, scores
from metalbench.analysis.throughput import Throughput, throughput

if TYPE_CHECKING:
    from metalbench.measure import Measurement

UNKNOWN_PEAKS = "the peaks of this device are not known"
SIMULATED = "no roof: host times of a simulation do not compare with peaks of a device"


@dataclass(frozen=True, slots=True)
class Analysis:
    """The throughput, the roofline position and the five scores of one measurement."""

    work: Throughput
    roofline: Roofline
    scores: Scores


def analyse(
    measurement: Measurement,
    flops: float,
    nbytes: float,
    *,
    simulated: bool,
    peaks: Peaks | None = None,
) -> Analysis:
    """Analyse a measurement of a task that needs `flops` operations and moves `nbytes` bytes.

    Throughput is by GPU time on devices with a GPU clock, so that launches do not count.
    `simulated` marks host times of a simulation, to which peaks do not apply.
    """
    time_ns = measurement.work_ns
    work = throughput(time_ns, flops, nbytes)
    speedup = None if measurement.ratio is None else measurement.ratio.value
    unknown = SIMULATED if simulated else UNKNOWN_PEAKS
    return Analysis(
        work=work,
        roofline=roofline(time_ns, work, None if simulated else peaks, unknown),
        scores=scores(speedup, work, measurement.stability),
    )
