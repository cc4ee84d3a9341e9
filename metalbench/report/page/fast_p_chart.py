"""The curves of fast_p over p as an SVG, with their interval bands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from metalbench.generations.comparison import FolderFigures
from metalbench.report.page.markup import Markup, element
from metalbench.stats import Interval

WIDTH, HEIGHT = 760, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 16, 60
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
        *_grid(most),
        *lines,
        *_legend([name for name, _ in shown]),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="group",
        aria_label=title,
        class_="roofline",
    )


def _x(p: float, most: float) -> float:
    return round(LEFT + p / most * (WIDTH - LEFT - RIGHT), 1)


def _y(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def _grid(most: float) -> Iterator[Markup]:
    bottom = HEIGHT - BOTTOM
    for p in range(int(most) + 1):
        x = _x(p, most)
        yield element("line", x1=x, x2=x, y1=TOP, y2=bottom, class_="grid")
        yield element("text", f"{p}", x=x, y=bottom + 22, class_="tick middle")
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(share)
        yield element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid")
        yield element("text", f"{share:g}", x=LEFT - 8, y=y + 4, class_="tick end")
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield element("text", "p: times as fast as MLX", x=middle, y=HEIGHT - 12, class_="label middle")


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
        y, x = TOP + 18 + 20 * place, WIDTH - RIGHT - 8
        yield element("text", name, x=x - 30, y=y + 4, class_="tick end")
        line = {"x1": x - 22, "x2": x, "y1": y, "y2": y}
        yield element("line", **line, class_=f"curve line-{place % COLOURS}")
