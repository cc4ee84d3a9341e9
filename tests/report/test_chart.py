"""Charts: axes, places of points, and SVG files that hold foreign text as text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hostile_text import ATTACKS, assert_harmless

from metalbench.errors import DeclarationError, MachineError
from metalbench.report.chart import (
    Axis,
    Curve,
    Dot,
    Key,
    Plot,
    draw_svg,
    interpolate_colour,
    trace_steps,
    write_svg,
)

SVG = "{http://www.w3.org/2000/svg}"
AXES = Axis.over_range("a", 0.0, 4.0), Axis.over_range("b", 0.0, 1.0)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.0, 4.0, ["0", "1", "2", "3", "4"]),
        (0.0, 1.0, ["0", "0.25", "0.5", "0.75", "1"]),
        (-1.5, 7.0, ["0", "2", "4", "6"]),
        (0.0, 12e6, ["0", "2,500,000", "5,000,000", "7,500,000", "10,000,000"]),
    ],
)
def test_over_range_places_ticks_at_round_numbers(
    low: float, high: float, labels: list[str]
) -> None:
    assert [label for _, label in Axis.over_range("", low, high).ticks] == labels


def test_over_decades_contains_all_values() -> None:
    axis = Axis.over_decades("", [0.3, 20.0])
    assert [label for _, label in axis.ticks] == ["0.1", "1", "10", "100"]
    assert axis.share(1.0) == pytest.approx(1 / 3)
    # One decade at least, so that the axis has a length.
    assert Axis.over_decades("", [10.0]).share(100.0) == 1.0


def test_over_names_has_a_cell_for_each_name() -> None:
    down = Axis.over_names(["x", "y"], downwards=True)
    assert [down.share(place) for place, _ in down.ticks] == [0.75, 0.25]


def test_plot_maps_values_to_pixels() -> None:
    plot = Plot("t", *AXES, width=200, height=100, left=20, right=20, top=10, bottom=10)
    assert plot.pixels([(0.0, 0.0), (4.0, 1.0), (2.0, 0.25)]) == "20.0,90.0 180.0,10.0 100.0,70.0"


def test_trace_steps_holds_each_value_until_the_next() -> None:
    assert trace_steps([(0, 5), (1, 3), (4, 2)]) == [(0, 5), (1, 5), (1, 3), (4, 3), (4, 2)]


def test_interpolate_colour_has_the_ends_and_the_middle_of_viridis() -> None:
    shares = (0.0, 0.5, 1.0)
    assert [interpolate_colour(share) for share in shares] == ["#440154", "#21918c", "#fde725"]


@pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS)
def test_draw_svg_keeps_foreign_text_as_text(text: str) -> None:
    foreign = f"{text}\ufffe"
    plot = Plot(
        foreign,
        Axis(foreign, 0, 1, [(0, foreign)]),
        Axis(foreign, 0, 1, [(0, foreign)]),
        curves=[Curve([(0, 0), (1, 1)], "line-0", foreign)],
        dots=[Dot(0, 0, "line-1"), Dot(1, 1, fill="#000000")],
        notes=[(0, 0, foreign)],
        legend=[Key(foreign, "line-0", is_curve=True), Key(foreign, fill="#000000")],
        heading=foreign,
    )
    document = draw_svg([[plot]], foreign)
    assert_harmless(document)
    tags = {each.tag.removeprefix(SVG) for each in ElementTree.fromstring(document).iter()}
    assert tags == {"svg", "style", "rect", "title", "text", "line", "polyline", "circle"}


def test_draw_svg_places_plots_in_rows_and_resolves_colours() -> None:
    plot = Plot("t", *AXES, width=300, height=200)
    document = draw_svg([[plot, plot], [plot]], "a note")
    root = ElementTree.fromstring(document)
    places = [(each.get("x"), each.get("y")) for each in root.findall(f"{SVG}svg")]
    assert places == [("0", "0"), ("300", "0"), ("0", "200")]
    assert (root.get("width"), root.get("height")) == ("600", "424")
    assert "var(" not in document


def test_write_svg_refuses_other_formats_and_folders_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"ends in \.svg"):
        write_svg(tmp_path / "a.png", [[Plot("t", *AXES)]])
    with pytest.raises(MachineError, match="cannot be written"):
        write_svg(tmp_path / "none" / "a.svg", [[Plot("t", *AXES)]])


def test_commands_without_a_page_do_not_import_jinja2() -> None:
    program = """
import sys
import metalbench
from pathlib import Path
from types import SimpleNamespace
from metalbench.cli import analyse, leaderboard, output, profile, puzzles, run
from metalbench.report import chart, generations
import agent_steel.cli.history, agent_steel.history.lineage
config = SimpleNamespace(files={"csv": Path(sys.argv[1])}, recorded={})
output.export(SimpleNamespace(results=[]), None, None, config, seconds=1.0)
print("jinja2" in sys.modules, "matplotlib" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, "/dev/null"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]
