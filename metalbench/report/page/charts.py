"""Roofline plot: throughput against arithmetic intensity, both logarithmic.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
multicore architectures", CACM 52 (2009).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from metalbench.kernelbench.comparison import FolderFigures
from metalbench.measure.analysis import Peaks
from metalbench.report import numbers
from metalbench.report.numbers import label
from metalbench.report.page.markup import Markup, element
from metalbench.report.page.model import KernelRow
from metalbench.report.page.tables import MARKS
from metalbench.stats import Interval

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


# The curves of fast_p over p as an SVG, with their interval bands.

FAST_P_WIDTH, FAST_P_HEIGHT = 760, 340
FAST_P_LEFT, FAST_P_RIGHT, FAST_P_TOP, FAST_P_BOTTOM = 64, 24, 16, 60
# Line colours, in rotation; each has a class in page.css.
COLOURS = 6
Curve = Sequence[tuple[float, Interval]]


def fast_p_chart(columns: Sequence[FolderFigures], level: str) -> Markup:
    """Return a chart with one curve a column: the share of samples more than p times as fast."""
    shown = [(each.name, each.levels[level].curve) for each in columns if level in each.levels]
    title = f"fast_p of {level}, of all samples, over p"
    most = max(p for _, curve in shown for p, _ in curve)
    lines = [
        part
        for place, (name, curve) in enumerate(shown)
        for part in _curve(name, curve, most, f"line-{place % COLOURS}")
    ]
    return element(
        "svg",
        element("title", title),
        *_fast_p_grid(most),
        *lines,
        *_legend([name for name, _ in shown]),
        viewBox=f"0 0 {FAST_P_WIDTH} {FAST_P_HEIGHT}",
        role="group",
        aria_label=title,
        class_="roofline",
    )


def _x(p: float, most: float) -> float:
    return round(FAST_P_LEFT + p / most * (FAST_P_WIDTH - FAST_P_LEFT - FAST_P_RIGHT), 1)


def _y(share: float) -> float:
    return round(
        FAST_P_HEIGHT - FAST_P_BOTTOM - share * (FAST_P_HEIGHT - FAST_P_TOP - FAST_P_BOTTOM), 1
    )


def _fast_p_grid(most: float) -> Iterator[Markup]:
    bottom = FAST_P_HEIGHT - FAST_P_BOTTOM
    for p in range(int(most) + 1):
        x = _x(p, most)
        yield element("line", x1=x, x2=x, y1=FAST_P_TOP, y2=bottom, class_="grid")
        yield element("text", f"{p}", x=x, y=bottom + 22, class_="tick middle")
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(share)
        yield element(
            "line", x1=FAST_P_LEFT, x2=FAST_P_WIDTH - FAST_P_RIGHT, y1=y, y2=y, class_="grid"
        )
        yield element("text", f"{share:g}", x=FAST_P_LEFT - 8, y=y + 4, class_="tick end")
    middle = (FAST_P_LEFT + FAST_P_WIDTH - FAST_P_RIGHT) / 2
    yield element(
        "text", "p: times as fast as MLX", x=middle, y=FAST_P_HEIGHT - 12, class_="label middle"
    )


def _curve(name: str, curve: Curve, most: float, colour: str) -> Iterator[Markup]:
    if all(share.is_bounded for _, share in curve):
        upper = _steps([(p, share.high) for p, share in curve], most)
        lower = _steps([(p, share.low) for p, share in curve], most)
        yield element("polygon", points=" ".join([*upper, *lower[::-1]]), class_=f"band {colour}")
    values = _steps([(p, share.value) for p, share in curve], most)
    said = element("title", f"{name}: {curve[0][1].value:.3f} correct")
    yield element("polyline", said, points=" ".join(values), class_=f"curve {colour}")


def _steps(points: Sequence[tuple[float, float]], most: float) -> list[str]:
    """Return the corners of a step function: a share holds from its p to the next."""
    found = [f"{_x(points[0][0], most)},{_y(points[0][1])}"]
    for (_, before), (p, share) in pairwise(points):
        found += [f"{_x(p, most)},{_y(before)}", f"{_x(p, most)},{_y(share)}"]
    return found


def _legend(names: Sequence[str]) -> Iterator[Markup]:
    for place, name in enumerate(names):
        y, x = FAST_P_TOP + 18 + 20 * place, FAST_P_WIDTH - FAST_P_RIGHT - 8
        yield element("text", name, x=x - 30, y=y + 4, class_="tick end")
        line = {"x1": x - 22, "x2": x, "y1": y, "y2": y}
        yield element("line", **line, class_=f"curve line-{place % COLOURS}")
