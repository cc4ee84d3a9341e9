"""Every report of results whose texts are hostile, by the bytes that it writes."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from example_pages import SOURCE, hostile_page
from example_results import CPU, GPU, correct, failed, incorrect, on_gpu
from example_rows import kept, results, row
from hostile_text import FORMULAS, HOSTILE, assert_harmless, hostile

import agent_steel
import metalbench
from metalbench.checking.findings import KINDS, CheckFinding, Findings, Frame
from metalbench.compare.comparison import compare
from metalbench.measure.analysis import Target
from metalbench.report import (
    ci,
    comparison,
    export,
    findings,
    history,
    leaderboard,
    sweep,
    tuning,
)
from metalbench.report import (
    results as failures,
)
from metalbench.report import (
    results as single,
)
from metalbench.report import (
    results as suite,
)
from metalbench.report import (
    results as table,
)
from metalbench.report.console import echo, echo_source
from metalbench.report.page.document import to_html
from metalbench.report.page.model import page_of_results
from metalbench.report.terminal import SafeConsole
from metalbench.store.environment import environment
from metalbench.store.records import RecordClaim
from metalbench.store.result import Tuning
from metalbench.store.store import Store
from metalbench.tune.search import TuningCandidate, TuningResult

RESULTS = [
    *(
        hostile(each)
        for each in (correct(), incorrect(), failed(), on_gpu(correct(), reference_timed=True))
    ),
    replace(failed(), failures=hostile(failed(), f"{HOSTILE}{HOSTILE}").failures),
    *(hostile(failed(), text) for text in FORMULAS),
]
FRAMES = (Frame(HOSTILE, "x.metal", 3, 2), Frame(HOSTILE, f"/{HOSTILE}.metal", 2, 1))
FOUND = [CheckFinding(kind, HOSTILE, HOSTILE, 3, FRAMES, HOSTILE, HOSTILE, 1) for kind in KINDS]
FINDINGS = Findings(
    kernel=HOSTILE,
    sizes=(HOSTILE,),
    tools=(HOSTILE,),
    found=tuple(FOUND),
    allowed=(replace(FOUND[0], allowed=HOSTILE),),
    unused=(HOSTILE,),
    skipped=(HOSTILE,),
    source=f"// {HOSTILE}\n" * 20,
)
TUNING = TuningResult(
    Tuning(*[HOSTILE] * 5, {HOSTILE: 1}, 1.1, 2, HOSTILE),
    (TuningCandidate({HOSTILE: 1}, 1.1), TuningCandidate({HOSTILE: 2}, None, HOSTILE)),
    None,
    True,
)
WIDTHS = pytest.mark.parametrize("width", [20, 80, 10_000])


def hostile_comparison() -> comparison.RunComparison:
    texts = ("task", "dtype", "size", "status", "mode", "engine", "source_hash")
    bad = replace(row(ratio=2.0), **dict.fromkeys(texts, HOSTILE), sizes={HOSTILE: 1})
    alone = replace(bad, task=f"alone{HOSTILE}")
    before = results(HOSTILE, bad, alone, device=HOSTILE)
    return compare(before, results(HOSTILE, bad, device=HOSTILE))


@pytest.fixture
def records(tmp_path: Path) -> Any:
    with Store(tmp_path / "results.db") as store:
        for device, made in ((CPU, correct()), (GPU, on_gpu(correct()))):
            bad = hostile(made)
            here = replace(bad, device=replace(device, name=HOSTILE, chip=HOSTILE))
            number = store.record(store.begin_run({}, here.device, environment()), here)
            assert store.keep_record(
                store.place_of(number),
                RecordClaim(number, "//", HOSTILE.encode(errors="ignore").decode()),
            )
        yield store


def printed(report: Any, width: int, *, terminal: bool) -> str:
    out = io.StringIO()
    made = SafeConsole(
        file=out,
        width=width,
        force_terminal=terminal,
        highlight=False,
        markup=False,
        emoji=False,
        color_system="truecolor" if terminal else None,
    )
    made.print(report(made) if callable(report) else report)
    text = out.getvalue()
    # What rich itself sends: colours, and nothing else.
    return re.sub(r"\x1b\[[\d;]*m", "", text) if terminal else text


@WIDTHS
@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize(
    "report",
    [
        *(lambda _, each=each: single.full_report(each, Target.SPEED) for each in RESULTS[:5]),
        lambda out: suite.suite_report(RESULTS, out, 1.0, verbose=True),
        lambda _: suite.brief_report(RESULTS, 1.0),
        lambda out: table.results_table(RESULTS, out),
        lambda _: failures.failures(RESULTS),
        lambda out: comparison.comparison_report(hostile_comparison(), out),
        lambda _: comparison.changes(hostile_comparison()),
        lambda out: tuning.tuning_report(TUNING, out),
    ],
)
def test_terminal_reports_are_harmless(
    report: Callable[[Any], Any], width: int, terminal: bool
) -> None:
    text = printed(report, width, terminal=terminal)
    assert_harmless(text)


@WIDTHS
def test_terminal_reports_of_the_store_are_harmless(records: Store, width: int) -> None:
    def report(out: SafeConsole) -> Any:
        return leaderboard.leaderboard_report(records.records(), out)

    assert_harmless(printed(report, width, terminal=False))
    past = [replace(hostile(kept(row(), 1)), verdict="SAME")]
    for _, made in history.history_tables(past, SafeConsole(file=io.StringIO())):
        assert_harmless(printed(made, width, terminal=False))


def test_documents_are_harmless(records: Store) -> None:
    found, past = records.records(), records.records_of
    documents = {
        "CSV of results": export.to_csv(RESULTS),
        "CSV of a sweep": sweep.to_csv(sweep.SweepReport(HOSTILE, HOSTILE, [], RESULTS)),
        "CSV of records": leaderboard.to_csv(found, past),
        "JSON of results": export.to_json(RESULTS, CPU, environment(), {HOSTILE: HOSTILE}),
        "JSON of records": leaderboard.to_json(found, past),
        "JSON of findings": findings.findings_json([FINDINGS], are_several=False),
        "JSON of a comparison": comparison.to_json(hostile_comparison()),
        "Markdown of a comparison": comparison.to_markdown(hostile_comparison()),
        "JSON of a tuning": tuning.to_json(TUNING),
        "SARIF": findings.to_sarif([FINDINGS], Path.cwd()),
        "Markdown of results": ci.to_markdown(RESULTS, 1.0),
        "Markdown of records": leaderboard.to_markdown(found),
        "JUnit": ci.to_junit(RESULTS),
        "HTML": to_html(page_of_results(RESULTS, CPU, environment(), 1.0)),
        "HTML of a page": to_html(hostile_page()),
    }
    for name, text in documents.items():
        assert_harmless(text)
        if "JSON" in name or name == "SARIF":
            json.loads(text)
        if "CSV" in name:
            cells = [cell for line in csv.reader(io.StringIO(text)) for cell in line]
            assert not any(
                cell[:1] in "=+-@\t\r" and not re.fullmatch(r"[-+]?[\d.e+-]+", cell)
                for cell in cells
                if cell
            )
    ElementTree.fromstring(documents["JUnit"])


def test_every_writer_of_documents_is_walked() -> None:
    """A new function `to_...` of a report belongs into the test above."""
    walked = {
        ("comparison", "to_json"),
        ("comparison", "to_markdown"),
        ("export", "to_csv"),
        ("export", "to_json"),
        ("generations", "to_csv"),  # by `lines_of_csv`
        ("generations", "to_json"),
        ("ci", "to_junit"),
        ("leaderboard", "to_csv"),
        ("leaderboard", "to_json"),
        ("leaderboard", "to_markdown"),
        ("ci", "to_markdown"),
        ("sweep", "to_csv"),
        ("page.document", "to_html"),
        ("findings", "to_sarif"),
        ("tuning", "to_json"),
    }
    folder = Path(metalbench.__file__).with_name("report")
    found = set()
    for path in folder.rglob("*.py"):
        name = ".".join(path.relative_to(folder).with_suffix("").parts)
        body = ast.parse(path.read_text()).body
        functions = [each.name for each in body if isinstance(each, ast.FunctionDef)]
        found |= {(name, each) for each in functions if each.startswith("to_")}
    assert found == walked


def test_markdown_of_results_has_no_markup_of_theirs() -> None:
    text = ci.to_markdown(RESULTS, 1.0)
    blocks = re.split(r"(?m)^(`{3,})text\n(?:.*\n)*?\1$", text)
    outside = "".join(blocks[::2])
    assert "<" not in outside
    assert "](" not in outside
    assert "://" not in outside
    assert "@everyone" not in outside
    rows = [line for line in outside.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + len(RESULTS)
    assert len({len(re.findall(r"(?<!\\)\|", line.replace("\\\\", ""))) for line in rows}) == 1


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, tuple[str, ...]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, tuple(name for name, _ in attrs)))


def test_html_of_hostile_results_has_no_element_of_theirs() -> None:
    tags = _Tags()
    tags.feed(to_html(page_of_results(RESULTS, CPU, environment(), 1.0)))
    assert [tag for tag, _ in tags.seen].count("script") <= 1
    assert not [tag for tag, _ in tags.seen if tag in ("img", "iframe", "object", "link")]
    assert not [name for _, names in tags.seen for name in names if name.startswith("on")]
    assert SOURCE  # the page's own example stays importable


def test_annotations_are_one_command_a_failure() -> None:
    bad = [replace(each, case=replace(each.case, task="t")) for each in RESULTS if each.failures]
    lines = list(ci.annotation_lines(bad, [], {"t": Path("/r/a\n,:%.metal")}, Path("/r")))
    assert len(lines) == sum(len(each.failures) for each in bad)
    for line in lines:
        assert re.fullmatch(r"::error [^\x00-\x08\n-\x1f\x7f-\x9f]*", line), line
        properties = line.removeprefix("::error ").partition("::")[0]
        names = [each.partition("=")[0] for each in properties.split(",")]
        assert set(names) <= {"file", "line", "col", "title"}
        assert len(names) == len(set(names))


@pytest.mark.parametrize("printing", [echo, echo_source])
def test_messages_are_harmless(
    printing: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    printing(HOSTILE)
    assert_harmless(capsys.readouterr().out)


def test_certificates_show_names_as_code() -> None:
    from metalbench.safe_text import markdown_code

    assert leaderboard.markdown_code is markdown_code
    assert markdown_code("a`b|c\x1b") == "``a`b\N{BROKEN BAR}c\\x1b``"


# What prints, apart from the functions of report/console.py: a call of these, by its last names.
PRINTING = re.compile(
    r"(?:^|\.)(?:print|pprint|Console|get_console)$|^click\.(?:echo|secho|echo_via_pager|style)$"
    r"|^(?:sys\.)?(?:__)?std(?:out|err)(?:__)?\.(?:buffer\.)?write(?:lines)?$|^csv\.\w*[wW]riter$|^json\.dumps?$"
)
# `print` of a console that `console()` has made is the way to print.
CONSOLES = re.compile(r"(?:^|[._])(?:out|log|console|made)(?:\(\))?\.print$|^SafeConsole\(")
ALLOWED = {
    "metalbench/report/console.py",  # the place itself
    "metalbench/report/export.py",  # `lines_of_csv`, the one writer of CSV
    "metalbench/cli/group.py",  # a constant message, to the file that click names
}


def other_paths(path: Path) -> list[str]:
    """Every call of a file that prints by another path than report/console.py."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if PRINTING.search(name) and not CONSOLES.search(name):
                found.append(f"{path}:{node.lineno}: {name}")
    return found


def test_no_module_prints_by_another_path() -> None:
    package, above = (Path(each.__file__).parent for each in (metalbench, agent_steel))
    files = [
        *(package / "report").rglob("*.py"),
        *(package / "cli").rglob("*.py"),
        *(package / "hlo" / "bench").rglob("*.py"),
        *(above / "cli").rglob("*.py"),
        *(each for each in above.rglob("command.py") if "in_python" not in each.parts),
    ]
    assert len(files) > 60
    found = [
        line
        for path in files
        if path.relative_to(package.parent).as_posix() not in ALLOWED
        for line in other_paths(path)
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "print('x')",
        "click.echo(x)",
        "click.secho(x)",
        "sys.stderr.write(x)",
        "sys.stdout.buffer.write(x)",
        "Console().print(x)",
        "rich.print(x)",
        "csv.DictWriter(f, c)",
        "json.dumps(x)",
    ],
)
def test_another_path_is_found(code: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(code)
    assert other_paths(tmp_path / "a.py")
