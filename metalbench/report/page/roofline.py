"""Roofline plot: throughput against arithmetic intensity, both logarithmic.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
multicore architectures", CACM 52 (2009).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metalbench.analysis import Peaks
from metalbench.report import numbers
from metalbench.report.labels import label
from metalbench.report.page.markup import Markup, element
from metalbench.report.page.model import KernelRow
from metalbench.report.page.table import MARKS

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 88, 36, 16, 68
RADIUS = 5
Point = tuple[float, float]


@dataclass(frozen=True)
class _Axis:
    """A logarithmic axis over whole decades, from `low` to `high`, at pixels `start` to `end`."""

    low: int
    high: int
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> _Axis:
        low = math.floor(math.log10(min(values)))
        return cls(low, max(low + 1, math.ceil(math.log10(max(values)))), start, end)

    def at(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.start + min(1.0, max(0.0, share)) * (self.end - self.start), 1)

    @property
    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def roofline_plot(
    rows: Sequence[KernelRow], anchors: Sequence[str], peaks: Peaks | None, title: str
) -> Markup:
    """Return a plot of the rows with arithmetic, and of the roof if peaks are known."""
    points = [(row, at) for row, at in zip(rows, anchors, strict=True) if row.intensity]
    if not points:
        return element("p", "No kernel with arithmetic was timed, so there is nothing to plot.")
    rates = [end for row, _ in points for end in _ends(row)]
    intensities = [row.intensity or 0.0 for row, _ in points]
    if peaks is not None:
        rates.append(peaks.gflops)
        intensities.append(peaks.gflops / peaks.gbytes_per_s)
    across = _Axis.over(intensities, LEFT, WIDTH - RIGHT)
    up = _Axis.over(rates, HEIGHT - BOTTOM, TOP)
    return element(
        "svg",
        element("title", title),
        *_grid(across, up),
        *(_roof(across, up, peaks) if peaks is not None else ()),
        *(_point(row, anchor, across, up) for row, anchor in points),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="group",
        aria_label=title,
        class_="roofline",
    )


def _ends(row: KernelRow) -> tuple[float, ...]:
    rate = row.gflops
    assert rate is not None
    low, high = rate.useful_ends
    return tuple(each for each in (low, rate.value, high) if each is not None)


def _grid(across: _Axis, up: _Axis) -> Iterator[Markup]:
    bottom, left = HEIGHT - BOTTOM, LEFT
    for value in across.ticks:
        x = across.at(value)
        yield element("line", x1=x, x2=x, y1=TOP, y2=bottom, class_="grid")
        yield element("text", f"{value:g}", x=x, y=bottom + 28, class_="tick middle")
    for value in up.ticks:
        y = up.at(value)
        yield element("line", x1=left, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid")
        yield element("text", f"{value:g}", x=left - 8, y=y + 4, class_="tick end")
    middle = (left + WIDTH - RIGHT) / 2
    below = "arithmetic intensity, FLOP per byte"
    yield element("text", below, x=middle, y=HEIGHT - 12, class_="label middle")
    beside = {"transform": f"rotate(-90 16 {(TOP + bottom) / 2})"}
    at = {"x": 16, "y": (TOP + bottom) / 2}
    yield element("text", "GFLOP/s", **at, **beside, class_="label middle")


def _roof(across: _Axis, up: _Axis, peaks: Peaks) -> Iterator[Markup]:
    ridge = peaks.gflops / peaks.gbytes_per_s
    first = max(10.0**across.low, 10.0**up.low / peaks.gbytes_per_s)
    corners = [(first, first * peaks.gbytes_per_s), (ridge, peaks.gflops)]
    corners.append((10.0**across.high, peaks.gflops))
    path = " ".join(f"{across.at(x)},{up.at(y)}" for x, y in corners)
    compute, memory = map(numbers.significant, (peaks.gflops, peaks.gbytes_per_s))
    yield element("polyline", points=path, class_="roof")
    above = {"x": WIDTH - RIGHT - 6, "y": up.at(peaks.gflops) + 16}
    yield element(
        "text", f"{compute} GFLOP/s, {memory} GB/s ({peaks.source})", **above, class_="tick end"
    )


def _point(row: KernelRow, anchor: str, across: _Axis, up: _Axis) -> Markup:
    rate, intensity = row.gflops, row.intensity
    assert rate is not None
    assert intensity is not None
    x, y = across.at(intensity), up.at(rate.value)
    name = label(row.task, row.dtype, row.size)
    said = f"{name}: {numbers.with_interval(rate, ' GFLOP/s')} at {intensity:.3g} FLOP per byte"
    bar = []
    if None not in rate.useful_ends:
        ends = {"y1": up.at(rate.low), "y2": up.at(rate.high)}
        bar.append(element("line", x1=x, x2=x, **ends, class_="bar"))
    circle = element("circle", cx=x, cy=y, r=RADIUS)
    mark = MARKS.get(row.verdict or "", "unclear")
    return element(
        "a",
        element("title", said),
        *bar,
        circle,
        href=f"#{anchor}",
        class_=f"point {mark}",
        aria_label=said,
    )
