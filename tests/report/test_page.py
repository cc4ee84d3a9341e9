"""The page, read as the HTML that it is: whole, self-contained, and of nothing but its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from example_pages import HOSTILE, SOURCE, about, hostile_page, records_page, row
from example_results import CPU, GPU, correct, failed, incorrect, on_gpu

from metalbench.measure.device_limits import Peaks
from metalbench.report.page.document import plot_past, to_html
from metalbench.report.page.model import Board, Page, Past, PastResult, page_of_results
from metalbench.report.page.source import split_source
from metalbench.report.render import read_asset
from metalbench.report.warnings import SIMULATION
from metalbench.stats import Interval
from metalbench.store.environment import environment

EMPTY = {"meta", "input", "br"}


class Reader(HTMLParser):
    """Elements with their attributes and texts; fails on what is not nested as it should be."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        assert len(attrs) == len(dict(attrs)), f"{tag} has an attribute twice"
        if tag not in EMPTY:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def said(self, tag: str | None = None) -> str:
        return "".join(text for inside, text in self.texts if tag in (None, inside))


@pytest.fixture(scope="module")
def page() -> Reader:
    return Reader(to_html(records_page()))


def test_the_page_loads_and_runs_only_its_own_content(page: Reader) -> None:
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert not {"src", "srcset", "style", "action", "data", "background"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
    (policy,) = (
        attributes["content"] or ""
        for tag, attributes in page.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    for text in map(read_asset, ("chart.css", "page.css", "page.js")):
        assert not re.search(r"https?:|@import|url\(|fetch|import\(|eval|innerHTML", text)
        assert "</" not in text


def test_links_have_targets_and_ids_are_unique(page: Reader) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert {(link or "").removeprefix("#") for link in links} <= set(ids)
    # From tables and plots, but what has no arithmetic is in no plot; and over what is long.
    assert len(links) == 6 + 5 + 2 * 3


def test_the_page_is_readable_without_scripts(page: Reader) -> None:
    tags = [tag for tag, _ in page.elements]
    assert "button" not in tags
    assert tags.count("details") == 6
    text = page.said()
    for part in ("2.00x", "[1.96, 2.04]", "FASTER", "LAUNCH-BOUND", "1.00 us", "TG = 128"):
        assert part in text
    assert "1.90x [1.86, 1.94] and 2.10x [2.06, 2.14]" in text
    assert "agent_steel" in text


def test_simulated_times_are_marked_and_in_a_separate_table() -> None:
    html = to_html(records_page())
    gpu, simulated = html.split("<section")[1:]
    assert ("metal (Apple M4" in gpu, SIMULATION in gpu) == (True, False)
    assert ("cpu (Example CPU" in simulated, SIMULATION in simulated) == (True, True)
    assert "No roof is drawn: the peaks of this device are not known." in gpu
    assert "No roof is drawn: not measured here." in simulated
    assert gpu.count('<table role="table"') == simulated.count('<table role="table"') == 1


def test_text_of_kernels_and_stores_never_becomes_markup() -> None:
    html = to_html(hostile_page())
    plain = Reader(to_html(records_page()))
    hostile = Reader(html)
    assert {tag for tag, _ in hostile.elements} <= {tag for tag, _ in plain.elements}
    known = {name for _, attributes in plain.elements for name in attributes}
    assert {name for _, attributes in hostile.elements for name in attributes} <= known
    assert html.count("<script") == html.count("</script") == 1
    assert "\x00" not in html
    assert "\x1b" not in html
    # And it is there, to be read.
    assert "<img src=x onerror=alert(1)>" in hostile.said()
    assert HOSTILE.partition("\x00")[0] in hostile.said("title")


def test_to_html_escapes_commands_of_ci_systems() -> None:
    html = to_html(Page("::error::title", "line\n::warning::lead ##[group]x", ()))
    assert not re.search(r"(?m)^\s*::|##\[", html)
    assert "::warning::lead ##[group]x" in Reader(html).said()


def test_split_source_colours_tokens_and_keeps_the_text() -> None:
    parts = split_source(SOURCE)
    assert "".join(text for _, text in parts) == SOURCE
    for word, kind in (
        ("kernel", "k"),
        ("float4", "t"),
        ("half", "t"),
        ("2.5f", "m"),
        ("// dispatch: twice  threads_in_grid=(n)  threads=(256)", "h"),
    ):
        assert any(style == kind and text.startswith(word) for style, text in parts), word
    for text in ("", "\n\n", "  x", "\t#", 'R"(', "/* never closed", "'"):
        shown = "".join(part for _, part in split_source(text))
        assert shown.rstrip("\n") == text.rstrip("\n")


def test_a_roof_is_drawn_where_the_peaks_are_known() -> None:
    board = Board(GPU, "", (row(),), peaks=Peaks(1000.0, 100.0, "a data sheet"))
    html = to_html(Page("a", "b", (board,)))
    (points,) = re.findall(r'<polyline points="([^"]*)" class="curve roof"', html)
    corners = [tuple(map(float, each.split(","))) for each in points.split()]
    assert len(corners) == 3
    # Up to the ridge, and level from there on.
    assert corners[0][1] > corners[1][1] == corners[2][1]
    assert "The roof: 1000 GFLOP/s, memory 100 GB/s (a data sheet)." in html
    assert "No roof" not in html
    assert "roof cache" not in html


def test_the_roof_of_a_device_with_a_known_cache_has_a_second_slope() -> None:
    peaks = Peaks(1000.0, 100.0, "measured", cache_gbytes_per_s=400.0)
    html = to_html(Page("a", "b", (Board(GPU, "", (row(),), peaks=peaks),)))
    found = re.findall(r'<polyline points="([^"]*)" class="curve (roof[^"]*)"', html)
    lines = {
        name: [tuple(map(float, each.split(","))) for each in points.split()]
        for points, name in found
    }
    memory, cache = lines["roof"], lines["roof cache"]
    assert "memory 100 GB/s, and dashed the last-level cache, 400 GB/s (measured)" in html
    # It meets the same level, where less arithmetic for a byte is enough.
    assert cache[1][1] == memory[1][1]
    assert cache[1][0] < memory[1][0]


def past(*results: tuple[str, float, bool], by_reference: bool = True) -> Past:
    made = (
        PastResult(about(value), commit, f"2030-01-0{day}T03:04:05+00:00", day, same)
        for day, (commit, value, same) in enumerate(results, 1)
    )
    return Past(by_reference, tuple(made))


def test_the_past_of_a_kernel_is_a_graph_over_commits() -> None:
    commits = [character * 40 for character in "abc"]
    found = past(
        (commits[0], 1.0, False),
        (commits[1], 1.5, False),
        (commits[1], 1.7, True),
        (commits[2], 2.0, True),
    )
    plot = plot_past(row(past=found))
    assert plot is not None
    assert [label for _, label in plot.across.ticks] == ["aaaaaaaa", "bbbbbbbb", "cccccccc"]
    assert [(dot.x, dot.y, dot.style) for dot in plot.dots] == [
        (0.5, 1.0, "line-5"),
        (1.5, 1.5, "line-5"),
        (1.5, 1.7, "line-0"),
        (2.5, 2.0, "line-0"),
    ]
    assert plot.dots[0].ends == (0.98, 1.02)
    assert [y for _, y in plot.curves[0].points] == [1.0, pytest.approx(1.6), 2.0]
    assert plot.up.low < 0.98
    assert plot.up.high > 2.04
    html = to_html(Page("a", "b", (Board(GPU, "", (row(past=found), row())),)))
    assert html.count('<figure class="past">') == 1
    assert "2.00x [1.96, 2.04] (cccccccc, 2030-01-04, run 4)" in html


def test_the_past_without_a_reference_is_in_a_unit_of_time_by_date() -> None:
    plot = plot_past(row(past=past(("", 2e6, True), ("", 3e6, True), by_reference=False)))
    assert plot is not None
    assert plot.up.label == "time, ms"
    assert [dot.y for dot in plot.dots] == [pytest.approx(2.0), pytest.approx(3.0)]
    assert [label for _, label in plot.across.ticks] == ["2030-01-01", "2030-01-02"]
    assert plot_past(row()) is None


def test_the_graph_of_the_past_is_not_stretched_by_wide_intervals() -> None:
    found = past(("a", 1.0, True), ("b", 1.1, True))
    wide = replace(found.results[0], score=Interval(1.0, 0.02, 50.0))
    plot = plot_past(row(past=replace(found, results=(wide, found.results[1]))))
    assert plot is not None
    assert 0.5 < plot.up.low < 1.0
    assert 1.1 < plot.up.high < 2.0


def test_the_graph_of_a_long_past_labels_few_commits_and_the_latest() -> None:
    found = past(*((f"{number:040x}", 1.0 + number, True) for number in range(9)))
    plot = plot_past(row(past=found))
    assert plot is not None
    labels = [label for _, label in plot.across.ticks]
    assert len(labels) <= 6
    assert labels[-1] == "00000000"
    assert plot.across.ticks[-1][0] == 8.5


def test_points_are_placed_by_their_numbers() -> None:
    rows = (row("low", gflops=None), row("a"), row("b", gflops=replace(row().gflops, value=500)))  # type: ignore[type-var]
    html = to_html(Page("a", "b", (Board(GPU, "", rows),)))
    places = [
        tuple(map(float, each)) for each in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', html)
    ]
    (ax, ay), (bx, by) = places
    assert bx > ax
    assert by < ay


def test_a_page_of_a_run_lists_failures_with_their_messages() -> None:
    results = [on_gpu(correct()), replace(incorrect(), device=GPU), replace(failed(), device=GPU)]
    html = to_html(page_of_results(results, GPU, environment(), 3.0))
    text = Reader(html).said()
    assert "1 of 3 correct, in 3.0 s." in text
    assert "at compile: gelu.metal:7:9: error: use of undeclared identifier 'tid'" in text
    assert "at verify: [relu] y[4096, 1]: expected 0.25, got nan" in text
    assert SIMULATION not in text
    assert SIMULATION in to_html(page_of_results([correct()], CPU, environment(), 3.0))


def test_an_empty_page_names_the_command_for_records() -> None:
    assert "metalbench run --record" in to_html(Page("a", "b"))


def colours() -> dict[str, tuple[str, str]]:
    css = read_asset("page.css")
    return {
        name: (light, dark)
        for name, light, dark in re.findall(
            r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", css
        )
    }


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def combinations() -> Iterator[tuple[str, str, int]]:
    for name in colours():
        if name not in ("page", "raised", "line"):
            yield from ((name, ground, at) for ground in ("page", "raised") for at in (0, 1))


@pytest.mark.parametrize(("name", "ground", "theme"), list(combinations()))
def test_text_is_readable_in_both_themes(name: str, ground: str, theme: int) -> None:
    """WCAG 2.1, 1.4.3: 4.5 to 1."""
    known = colours()
    assert contrast(known[name][theme], known[ground][theme]) >= 4.5


def test_every_colour_is_of_both_themes() -> None:
    used = set(re.findall(r"var\(--([\w-]+)\)", read_asset("page.css") + read_asset("chart.css")))
    assert used == set(colours())
    assert len(used) > 10
