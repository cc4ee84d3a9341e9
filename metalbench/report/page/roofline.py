"""Roofline plot: throughput against arithmetic intensity, both logarithmic.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
multicore architectures", CACM 52 (2009).
"""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.measure.analysis import Peaks
from metalbench.report import numbers
from metalbench.report.chart import Axis, Curve, Dot, Plot
from metalbench.report.page.model import KernelRow

# CSS classes of verdicts; others are "unclear".
MARKS = {"FASTER": "faster", "SLOWER": "slower", "SAME": "same"}


def roofline_plot(
    rows: Sequence[KernelRow], anchors: Sequence[str], peaks: Peaks | None
) -> Plot | None:
    """Return a plot of the rows with arithmetic, and of the roof if peaks are known.

    Each point links to its anchor. Return None if no row has both arithmetic and a time.
    """
    dots, rates, intensities = [], [], []
    for row, anchor in zip(rows, anchors, strict=True):
        rate, intensity = row.gflops, row.intensity
        if rate is None or not intensity:
            continue
        low, high = rate.useful_ends
        rates += [each for each in (low, rate.value, high) if each is not None]
        intensities.append(intensity)
        name = numbers.label(row.task, row.dtype, row.size)
        speed = numbers.with_interval(rate, " GFLOP/s")
        dots.append(
            Dot(
                intensity,
                rate.value,
                MARKS.get(row.verdict or "", "unclear"),
                title=f"{name}: {speed} at {intensity:.3g} FLOP per byte",
                link=anchor,
                ends=(low, high) if low is not None and high is not None else None,
            )
        )
    if not dots:
        return None
    if peaks is not None:
        rates.append(peaks.gflops)
        intensities.append(peaks.gflops / peaks.gbytes_per_s)
    across = Axis.over_decades("arithmetic intensity, FLOP per byte", intensities)
    up = Axis.over_decades("GFLOP/s", rates)
    title = "Throughput against arithmetic intensity"
    if peaks is None:
        return Plot(title, across, up, dots=dots)
    first = max(across.low, up.low / peaks.gbytes_per_s)
    ridge = (peaks.gflops / peaks.gbytes_per_s, peaks.gflops)
    roof = [(first, first * peaks.gbytes_per_s), ridge, (across.high, peaks.gflops)]
    compute, memory = map(numbers.significant, (peaks.gflops, peaks.gbytes_per_s))
    note = f"{compute} GFLOP/s, {memory} GB/s ({peaks.source})"
    return Plot(
        title,
        across,
        up,
        curves=[Curve(roof, "roof")],
        dots=dots,
        notes=[(across.high, peaks.gflops, note)],
    )
