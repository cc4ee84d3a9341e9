"""Roofline plot: throughput against arithmetic intensity, both logarithmic.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
multicore architectures", CACM 52 (2009).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metalbench.measure.device_limits import Peaks
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
    roof = [*_slope(peaks.gbytes_per_s, peaks.gflops, across, up), (across.high, peaks.gflops)]
    curves = [Curve(roof, "roof", f"memory: {_rate(peaks.gbytes_per_s)}")]
    if peaks.cache_gbytes_per_s is not None:
        slope = list(_slope(peaks.cache_gbytes_per_s, peaks.gflops, across, up))
        title_of_slope = f"last-level cache: {_rate(peaks.cache_gbytes_per_s)}"
        curves.append(Curve(slope, "roof cache", title_of_slope))
    return Plot(
        title,
        across,
        up,
        curves=curves,
        dots=dots,
        notes=[(across.high, peaks.gflops, f"{numbers.significant(peaks.gflops)} GFLOP/s")],
    )


def explain_peaks(peaks: Peaks) -> str:
    """Return the figures of a roof and their source as a sentence."""
    cache = peaks.cache_gbytes_per_s
    lines = f"{numbers.significant(peaks.gflops)} GFLOP/s, memory {_rate(peaks.gbytes_per_s)}"
    if cache is not None:
        lines += f", and dashed the last-level cache, {_rate(cache)}"
    return f"The roof: {lines} ({peaks.source})."


def _rate(gbytes_per_s: float) -> str:
    return f"{numbers.significant(gbytes_per_s)} GB/s"


def _slope(
    gbytes_per_s: float, gflops: float, across: Axis, up: Axis
) -> Iterator[tuple[float, float]]:
    """Yield the ends of a bandwidth's line: at the edge of the plot, and at `gflops`."""
    first = max(across.low, up.low / gbytes_per_s)
    yield first, first * gbytes_per_s
    yield gflops / gbytes_per_s, gflops
