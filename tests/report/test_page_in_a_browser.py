"""The page in Chromium: both themes, two widths, and a keyboard alone.

`tests/report/test_page.py` has what can be tested without a browser. It takes
`pip install '.[browser]'` and a Chromium: Playwright's own (`playwright install chromium`) or the
system's.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from example_pages import about, hostile_page, records_page, row
from example_results import CPU

from metalbench.kernelbench.answers import GenerationOutcome
from metalbench.kernelbench.comparison import FolderFigures
from metalbench.kernelbench.folder import SamplePlan
from metalbench.kernelbench.metrics import EvaluatedSample, compute_figures
from metalbench.measure.device_limits import Peaks
from metalbench.report.page.document import page_of_generations, to_html
from metalbench.report.page.model import Board, Page, Past, PastResult
from metalbench.stats import Interval

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("playwright") is None,
        reason="the page in a browser needs `pip install '.[browser]'`",
    ),
]
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
SYSTEM = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as playwright:
        # As root, which containers run as, Chromium refuses its sandbox; the page is our own.
        options: dict[str, Any] = {"args": ["--no-sandbox"] if os.geteuid() == 0 else []}
        found = next(filter(None, map(shutil.which, SYSTEM)), None)
        own = Path(playwright.chromium.executable_path)
        if not own.exists():
            if found is None:
                pytest.skip("no Chromium: `playwright install chromium`, or the system's package")
            options["executable_path"] = found
        try:
            opened = playwright.chromium.launch(**options)
        except Error as error:
            pytest.skip(f"Chromium does not start: {error.message.splitlines()[0]}")
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "records.html"
    path.write_text(to_html(records_page()), encoding="utf-8")
    return path


def opened(browser: Any, file: Path, **options: Any) -> Any:
    context = browser.new_context(**{"viewport": WIDE, **options})
    page = context.new_page()
    page.faults = []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda said: page.faults.append(said.text) if said.type == "error" else None)
    page.on("dialog", lambda dialog: page.faults.append(dialog.message))
    page.on("request", lambda asked: asked.url.startswith("file:") or page.faults.append(asked.url))
    page.goto(file.as_uri())
    return page


def tasks(page: Any) -> list[str]:
    return list(page.locator("table[data-sortable]").first.locator("tbody th").all_inner_texts())


def ground(page: Any) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def press_until(page: Any, key: str, reached: str, most: int = 60) -> None:
    for _ in range(most):
        page.keyboard.press(key)
        if page.evaluate(f"(() => {{ const at = document.activeElement; return {reached}; }})()"):
            return
    pytest.fail(f"{key} never reached {reached}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_page_fits_the_window_without_errors(
    browser: Any, file: Path, scheme: str, viewport: dict[str, int]
) -> None:
    page = opened(browser, file, color_scheme=scheme, viewport=viewport)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= viewport["width"]
    assert ground(page) == {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 19, 24)"}[scheme]
    for name in ("softmax", "Relu", "gelu", "copy", "alone"):
        assert page.get_by_role("link", name=name, exact=True).first.is_visible()
    assert page.faults == []


def test_usual_names_are_not_broken_in_a_wide_window(browser: Any, tmp_path: Path) -> None:
    names = ("rope_embedding", "layer_norm", "matvec")
    rows = tuple(row(name, set="standard", gbytes_per_s=about(0.0543)) for name in names)
    path = tmp_path / "names.html"
    path.write_text(to_html(Page("Names", "", (Board(CPU, "", rows),))), encoding="utf-8")
    page = opened(browser, path)
    lines = "part => new Set(Array.from(part.getClientRects(), each => Math.round(each.top))).size"
    for link in page.locator("tbody th a").all():
        assert link.evaluate(lines) == 1
    for cell in page.locator('td[data-label="set"]').all():
        text = "cell => { const range = document.createRange(); range.selectNodeContents(cell); "
        assert cell.evaluate(f"{text} return ({lines})(range); }}") == 1


def test_the_switch_overrules_the_system_and_is_remembered(browser: Any, file: Path) -> None:
    page = opened(browser, file, color_scheme="light")
    before = ground(page)
    page.get_by_label("dark", exact=True).check()
    assert ground(page) == "rgb(15, 19, 24)" != before
    page.reload()
    assert ground(page) == "rgb(15, 19, 24)"
    page.get_by_label("as the system").check()
    assert ground(page) == before


def test_a_table_is_sorted_by_a_keyboard_alone(browser: Any, file: Path) -> None:
    page = opened(browser, file)
    assert tasks(page) == ["softmax", "Relu", "gelu", "copy", "alone"]
    press_until(page, "Tab", "at.tagName === 'BUTTON' && at.textContent === 'kernel'")
    page.keyboard.press("Enter")
    assert tasks(page) == ["Relu", "alone", "gelu", "softmax", "copy"]
    head = page.get_by_role("columnheader", name="kernel", exact=True).first
    assert head.get_attribute("aria-sort") == "ascending"
    assert page.get_by_role("status").inner_text() == "sorted by kernel, ascending"
    page.keyboard.press("Space")
    assert tasks(page) == ["copy", "softmax", "gelu", "alone", "Relu"]
    # What has no ratio stays below.
    page.get_by_role("button", name="MLX / kernel").first.press("Enter")
    assert tasks(page)[-1] == "alone"
    page.keyboard.press("Enter")
    assert tasks(page)[-1] == "alone"
    assert page.locator("th[aria-sort]").count() == 1
    assert page.faults == []


def test_a_keyboard_alone_opens_a_kernel_and_reads_its_source(browser: Any, file: Path) -> None:
    page = opened(browser, file)
    press_until(page, "Tab", "at.tagName === 'A' && at.textContent === 'gelu'")
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.tagName === 'SUMMARY'")
    assert "gelu" in page.evaluate("document.activeElement.textContent")
    assert page.locator("details[open]").count() == 1
    press_until(page, "Tab", "at.classList.contains('source')")
    assert "kernel void twice" in page.evaluate("document.activeElement.textContent")
    # And away from it: nothing holds a keyboard.
    press_until(page, "Tab", "at.tagName === 'SUMMARY' && at.textContent.startsWith('copy')")
    page.keyboard.press("Space")
    assert page.locator("details[open]").count() == 2


def test_points_of_the_plot_are_reached_and_named(browser: Any, file: Path) -> None:
    page = opened(browser, file)
    press_until(page, "Tab", "at.classList.contains('point')")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(
        "softmax (seed): 50 GFLOP/s [49, 51] at 2 FLOP per byte"
    )
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelectorAll('details[open]').length === 1")


def test_the_tab_key_skips_long_parts(browser: Any, file: Path) -> None:
    page = opened(browser, file)
    press_until(page, "Tab", "at.tagName === 'A' && at.textContent === 'kernels'")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_each_focused_element_shows_its_focus(browser: Any, file: Path) -> None:
    page = opened(browser, file)
    first = None
    for _ in range(80):
        page.keyboard.press("Tab")
        # Radio buttons, links, buttons, regions and summaries have an outline, points a ring.
        shown = page.evaluate(
            """() => {
              const at = document.activeElement;
              if (at === document.body) return null;
              const mark = getComputedStyle(at.querySelector(':scope > circle') ?? at);
              const ring = parseFloat(mark.strokeWidth) >= 3 && mark.stroke !== 'none';
              return [at.outerHTML.slice(0, 80), mark.outlineStyle !== 'none' || ring];
            }"""
        )
        if shown is None or shown[0] == first:
            break
        first = first or shown[0]
        assert shown[1], f"no sign of the focus: {shown[0]}"


def test_without_scripts_everything_can_be_read(browser: Any, file: Path) -> None:
    page = opened(browser, file, java_script_enabled=False, color_scheme="light")
    assert page.get_by_role("button").count() == 0
    page.locator("summary").first.press("Enter")
    assert page.locator(".source").first.is_visible()
    page.get_by_label("dark", exact=True).check()
    page.screenshot()
    assert page.get_by_role("link", name="softmax", exact=True).count() == 2


def test_a_narrow_window_has_cells_with_their_names_and_sorts(browser: Any, file: Path) -> None:
    page = opened(browser, file, viewport=NARROW)
    page.get_by_role("button", name="GFLOP/s").first.press("Enter")
    assert tasks(page)[0] == "Relu"
    cell = page.locator("td[data-label='GFLOP/s']").first
    label = "getComputedStyle(document.querySelector(\"td[data-label='GFLOP/s']\"), '::before')"
    assert page.evaluate(f"{label}.content") == '"GFLOP/s"'
    assert cell.bounding_box()["width"] < NARROW["width"]
    # What a reader hears is a table still.
    assert page.get_by_role("row").count() > 5
    assert page.get_by_role("rowheader").count() == 6


def test_a_hostile_page_has_no_effect(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(to_html(hostile_page()), encoding="utf-8")
    page = opened(browser, path)
    for button in page.get_by_role("button").all():
        button.press("Enter")
    for summary in page.locator("summary").all():
        summary.press("Enter")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    assert page.faults == []


def test_the_filter_leaves_the_rows_with_all_of_its_words(browser: Any, file: Path) -> None:
    page = opened(browser, file)
    field = page.get_by_label("Filter").first
    rows = page.locator("table[data-sortable]").first.locator("tbody tr")
    count = rows.count()
    field.fill("SOFTMAX float32")
    shown = [each for each in rows.all() if each.is_visible()]
    assert [each.locator("th").inner_text() for each in shown] == ["softmax"]
    assert page.get_by_role("status").inner_text() == f"1 of {count} rows"
    field.fill("softmax nothing")
    assert not any(each.is_visible() for each in rows.all())
    field.fill("")
    assert all(each.is_visible() for each in rows.all())
    assert page.faults == []


def test_the_head_of_a_long_table_stays_in_view(browser: Any, tmp_path: Path) -> None:
    rows = tuple(row(f"kernel{number}") for number in range(80))
    path = tmp_path / "long.html"
    path.write_text(to_html(Page("run", "lead", (Board(CPU, "vectors", rows),))), encoding="utf-8")
    page = opened(browser, path, viewport=WIDE)
    table = page.locator(".wide:has(> table[data-sortable])")
    table.evaluate("each => { each.scrollIntoView(); each.scrollTop = each.scrollHeight; }")
    last = page.locator("table[data-sortable] tbody tr").last
    head = page.get_by_role("columnheader", name="task").bounding_box()
    place = last.bounding_box()
    assert head is not None
    assert place is not None
    assert 0 <= head["y"] < place["y"] <= WIDE["height"]


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_nothing_is_clipped_on_a_page_with_long_texts(
    browser: Any, tmp_path: Path, viewport: dict[str, int]
) -> None:
    past = tuple(
        PastResult(about(1e-3 * 7**day), f"{day:040x}", "2030-01-02T03:04:05+00:00", day, day > 3)
        for day in range(8)
    )
    wide = Interval(12345.678, 1234.5, 99999.9)
    long = row(
        "conv_transpose3d_norm_pool_gelu",
        set="kernelbench/level2",
        dtype="bfloat16",
        size="kernelbench_large",
        status="not by its own kernels",
        verdict="INCONCLUSIVE",
        launch_bound=True,
        time_ns=wide,
        reference_ns=wide,
        ratio=wide,
        gflops=wide,
        gbytes_per_s=wide,
        history=(),
        samples_ns=(1.0, 2.0, 3.0),
        past=Past(True, past),
    )
    peaks = Peaks(98765.4, 1234.5, "a source with a long text " * 6, 5432.1)
    page_file = tmp_path / "long.html"
    boards = (Board(CPU, "vectors", (long, replace(row(), history=())), peaks=peaks),)
    facts = (("command", "metalbench run " + "conv_transpose3d_norm_pool_gelu " * 20),)
    page_file.write_text(to_html(Page("run", "lead", boards, facts)), encoding="utf-8")
    page = opened(browser, page_file, viewport=viewport)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    beyond = page.evaluate(
        """() => {
          const out = [];
          for (const svg of document.querySelectorAll('svg.chart')) {
            const frame = svg.getBoundingClientRect();
            for (const text of svg.querySelectorAll('text')) {
              const box = text.getBoundingClientRect();
              if (box.left < frame.left - 1 || box.right > frame.right + 1
                  || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) {
                out.push(`${text.textContent} of ${svg.getAttribute('aria-label')}`);
              }
            }
          }
          for (const table of document.querySelectorAll('.wide:has(> [data-sortable])')) {
            if (table.scrollWidth > table.clientWidth) {
              out.push(`table: ${table.scrollWidth} of ${table.clientWidth}`);
            }
          }
          return out;
        }"""
    )
    assert beyond == []
    assert page.faults == []


def test_the_past_of_a_kernel_is_drawn_in_its_details(browser: Any, tmp_path: Path) -> None:
    results = tuple(
        PastResult(about(value), character * 40, "2030-01-02T03:04:05+00:00", number, number == 2)
        for number, (character, value) in enumerate(zip("abc", (1.0, 2.0, 4.0), strict=True))
    )
    path = tmp_path / "past.html"
    kernel = row(history=(), past=Past(True, results))
    path.write_text(to_html(Page("run", "lead", (Board(CPU, "", (kernel,)),))), encoding="utf-8")
    page = opened(browser, path)
    page.locator("summary").first.press("Enter")
    dots = page.locator(".past circle").all()
    places = [each.bounding_box() for each in dots]
    assert [place["x"] for place in places] == sorted(place["x"] for place in places)
    assert [place["y"] for place in places] == sorted(
        (place["y"] for place in places), reverse=True
    )
    assert dots[-1].locator("title").text_content().startswith("4.00x [3.92, 4.08] (cccccccc")
    colours = [
        page.evaluate("each => getComputedStyle(each).fill", each.element_handle()) for each in dots
    ]
    assert colours[0] == colours[1] != colours[2]


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_problems_of_generated_kernels_fit_and_are_sorted(
    browser: Any, tmp_path: Path, viewport: dict[str, int]
) -> None:
    message = "[task] y: expected 4.78323603 at 89, got 7.17485428; " * 8
    samples = {
        ("level_2", 9): EvaluatedSample(GenerationOutcome.CORRECT, about(2.0), task="kb2_009_a"),
        ("level_2", 10): EvaluatedSample(GenerationOutcome.WRONG, message=message),
        ("level_2", 11): EvaluatedSample(GenerationOutcome.CORRECT, about(3.0), task="kb2_011_b"),
    }
    problems = {key: [each] for key, each in samples.items()}
    plan = SamplePlan({"level_2": [9, 10, 11]}, 1)
    run = FolderFigures("run", "GPU", plan, {"level_2": compute_figures(problems)}, problems)
    path = tmp_path / "generations.html"
    path.write_text(page_of_generations([run, run], "compared"), encoding="utf-8")
    page = opened(browser, path, viewport=viewport)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    wide = page.locator(".wide:has(> [data-sortable])")
    assert wide.evaluate("each => each.scrollWidth <= each.clientWidth")
    # By number, not by text: 9 is before 10.
    page.get_by_role("button", name="problem").press("Enter")
    assert tasks(page) == ["level_2 9", "level_2 10", "level_2 11"]
    page.get_by_role("button", name="run: MLX / kernel").first.press("Enter")
    page.keyboard.press("Enter")
    assert tasks(page) == ["level_2 11", "level_2 9", "level_2 10"]
    page.get_by_label("Filter").fill("wrong")
    assert [each for each in tasks(page) if page.get_by_text(each, exact=True).is_visible()] == [
        "level_2 10"
    ]
    assert page.faults == []
