"""Charts as SVG, for pages and for files.

One template draws all charts. matplotlib cannot draw those of pages: it writes `style` attributes,
which a page's Content-Security-Policy forbids, and fixed colours, but a page has two themes and
links from points to rows. With this template for files, too, no chart needs matplotlib.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from metalbench.errors import DeclarationError, MachineError

# Classes of colours in chart.css: "line-0" to "line-5".
COLOURS = 6
# Five colours of matplotlib's map "viridis", whose lightness rises evenly.
_VIRIDIS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high`, with a position and a label for each tick."""

    label: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    is_logarithmic: bool = False
    has_grid: bool = True

    @classmethod
    def over_decades(cls, label: str, values: Sequence[float]) -> Axis:
        """Return a logarithmic axis over the whole decades that contain all values."""
        low = math.floor(math.log10(min(values)))
        high = max(low + 1, math.ceil(math.log10(max(values))))
        ticks = [(10.0**power, _label_decade(power)) for power in range(low, high + 1)]
        return cls(label, 10.0**low, 10.0**high, ticks, is_logarithmic=True)

    @classmethod
    def over_range(cls, label: str, low: float, high: float) -> Axis:
        """Return a linear axis with four to ten ticks at round numbers."""
        step = 10.0 ** math.floor(math.log10((high - low) / 4))
        step *= max(each for each in (1, 2, 2.5, 5) if 4 * each * step <= high - low)
        values = (step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1))
        return cls(label, low, high, [(each, f"{each:,.10g}") for each in values])

    @classmethod
    def over_names(cls, names: Sequence[str], *, downwards: bool = False) -> Axis:
        """Return an axis with a cell of length 1 for each name."""
        ends = (len(names), 0) if downwards else (0, len(names))
        ticks = [(i + 0.5, name) for i, name in enumerate(names)]
        return cls("", *ends, ticks, has_grid=False)

    def share(self, value: float) -> float:
        """Return the position of a value: 0 is the low end, 1 the high end."""
        low, high = self.low, self.high
        if self.is_logarithmic:
            value, low, high = math.log10(value), math.log10(low), math.log10(high)
        return min(1.0, max(0.0, (value - low) / (high - low)))


def _label_decade(power: int) -> str:
    """Return ``0.01``, ``1000`` or ``10k``: a power of ten in at most five characters."""
    if not 4 <= power < 15:
        return f"{10.0**power:g}"
    return f"{10 ** (power % 3)}{'kMGT'[power // 3 - 1]}"


@dataclass(frozen=True)
class Curve:
    """Connected points in a class of chart.css; `band` has the corners of an interval's area."""

    points: Sequence[Point]
    style: str
    title: str = ""
    band: Sequence[Point] = ()


@dataclass(frozen=True)
class Dot:
    """A point in a class of chart.css, or in the colour `fill`; `ends` are those of an interval."""

    x: float
    y: float
    style: str = ""
    fill: str = ""
    radius: float = 5
    title: str = ""
    link: str = ""
    ends: Point | None = None


@dataclass(frozen=True)
class Key:
    """A line of a legend: a text, and the look of the curve or the dots that it explains."""

    text: str
    style: str = ""
    fill: str = ""
    is_curve: bool = False


@dataclass(frozen=True)
class Plot:
    """Two axes and what is drawn between them. Sizes are in pixels.

    `cells` are a column, a row and a value from 0 to 1. `notes` are a place and a text below it.
    """

    title: str
    across: Axis
    up: Axis
    curves: Sequence[Curve] = ()
    dots: Sequence[Dot] = ()
    cells: Sequence[tuple[int, int, float]] = ()
    notes: Sequence[tuple[float, float, str]] = ()
    legend: Sequence[Key] = ()
    heading: str = ""
    width: int = 760
    height: int = 400
    left: int = 88
    right: int = 36
    top: int = 16
    bottom: int = 68

    def x(self, value: float) -> float:
        """Return the pixel of a value of the horizontal axis."""
        return round(self.left + self.across.share(value) * (self.x_end - self.left), 1)

    def y(self, value: float) -> float:
        """Return the pixel of a value of the vertical axis."""
        return round(self.y_end - self.up.share(value) * (self.y_end - self.top), 1)

    @property
    def x_end(self) -> int:
        """The right end of the horizontal axis."""
        return self.width - self.right

    @property
    def y_end(self) -> int:
        """The lower end of the vertical axis."""
        return self.height - self.bottom

    def pixels(self, points: Sequence[Point]) -> str:
        """Return points as the attribute of a polyline."""
        return " ".join(f"{self.x(x)},{self.y(y)}" for x, y in points)


def trace_steps(points: Sequence[Point]) -> list[Point]:
    """Return the corners of a step function: a value holds from its place to the next."""
    corners = [points[0]]
    for (_, before), (x, y) in pairwise(points):
        corners += [(x, before), (x, y)]
    return corners


def interpolate_colour(share: float) -> str:
    """Return the colour of a value from 0 to 1, as ``#rrggbb``."""
    place = share * (len(_VIRIDIS) - 1)
    first = min(int(place), len(_VIRIDIS) - 2)
    ends = zip(_VIRIDIS[first], _VIRIDIS[first + 1], strict=True)
    return "#" + "".join(f"{round(a + (place - first) * (b - a)):02x}" for a, b in ends)


def check_picture_path(path: Path) -> None:
    """Raise DeclarationError unless the name ends in .svg."""
    if path.suffix.lower() != ".svg":
        raise DeclarationError(f"{path}: expected a name that ends in .svg")


def draw_svg(rows: Sequence[Sequence[Plot]], note: str = "") -> str:
    """Return an SVG document with rows of plots, and a note below them."""
    from metalbench.report.render import render_template

    height = sum(max(plot.height for plot in row) for row in rows)
    return render_template(
        "picture.svg",
        places=list(_place_plots(rows)),
        width=max(sum(plot.width for plot in row) for row in rows),
        height=height + (24 if note else 0),
        note=note,
    )


def write_svg(path: Path, rows: Sequence[Sequence[Plot]], note: str = "") -> None:
    """Write an SVG document. Raise as `check_picture_path`, and MachineError if writing fails."""
    check_picture_path(path)
    try:
        path.write_text(draw_svg(rows, note), encoding="utf-8")
    except OSError as error:
        raise MachineError(f"{path} cannot be written: {error.strerror}") from error


def _place_plots(rows: Sequence[Sequence[Plot]]) -> Iterator[tuple[int, int, Plot]]:
    """Yield each plot with the place of its upper left corner."""
    y = 0
    for row in rows:
        x = 0
        for plot in row:
            yield x, y, plot
            x += plot.width
        y += max(plot.height for plot in row)
