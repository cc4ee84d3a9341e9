"""A page of a stored run: what it shows, its size, and the command that writes it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from example_pages import about, row
from example_results import CPU, case, correct, failed, incorrect

from metalbench import _core
from metalbench.cli import main
from metalbench.kernel.library import Library
from metalbench.kernel.source_files import library_folder
from metalbench.report.page.document import to_html
from metalbench.report.page.model import (
    MOST_PAST,
    MOST_SAMPLES,
    Board,
    Page,
    Past,
    PastResult,
    page_of_results,
    page_of_run,
    read_pasts,
)
from metalbench.report.page.source import separate_headers
from metalbench.store.environment import environment
from metalbench.store.result import Result
from metalbench.store.store import WITHOUT_KERNELS, Store

RESULTS = [
    replace(correct("softmax"), notes=("inputs have no spikes: seed 1",)),
    incorrect("relu"),
    failed("gelu"),
]
COMMAND = "metalbench run softmax relu gelu"


def add_run(db: Path, results: list[Result], *, ended: str = "finished", **options: object) -> int:
    with Store(db) as store:
        run = store.begin_run({"command_line": COMMAND, **options}, CPU, environment())
        for result in results:
            store.record(run, result)
        store.finish_run(run, ended)
    return run


def test_a_stored_run_has_the_rows_of_its_results(tmp_path: Path) -> None:
    db = tmp_path / "results.db"
    run = add_run(db, RESULTS)
    with Store(db) as store:
        stored = page_of_run(store.read_run(run), store.samples, store.history)
    direct = page_of_results(RESULTS, CPU, environment(), 1.0, command_line=COMMAND)
    for one, other in zip(stored.boards[0].rows, direct.boards[0].rows, strict=True):
        plain = replace(one, facts=other.facts, gflops=other.gflops)
        assert plain.gbytes_per_s is None or other.gbytes_per_s is not None
        assert replace(plain, gbytes_per_s=other.gbytes_per_s) == other
    facts = dict(stored.facts)
    assert re.fullmatch(r"[0-9a-f]{8}\+?", facts["commit"])
    assert (facts["command"], facts["state"]) == (COMMAND, "finished")
    assert {"date", "MetalBench", "MLX", "machine"} <= set(facts)
    first = stored.boards[0].rows[0]
    rates = direct.boards[0].rows[0]
    assert first.gflops is not None
    assert rates.gflops is not None
    assert first.gflops.value == pytest.approx(rates.gflops.value)
    assert 2 < len(first.samples_ns) <= MOST_SAMPLES


def test_report_writes_the_page_of_a_run(tmp_path: Path) -> None:
    db, page = tmp_path / "results.db", tmp_path / "run.html"
    add_run(db, RESULTS[:1])
    add_run(db, RESULTS)
    told = CliRunner().invoke(main, ["report", "--html", str(page), "--db", str(db)])
    assert told.exit_code == 0, told.output
    assert "Wrote run 2 with 3 results" in told.output
    text = page.read_text()
    without_roof = "measured only on its own machine"
    for part in (COMMAND, "1 of 3 correct", 'class="bar"', 'class="sample"', without_roof):
        assert part in text
    told = CliRunner().invoke(main, ["report", "latest~1", "--html", "-", "--db", str(db)])
    assert "MetalBench run 1" in told.output
    told = CliRunner().invoke(main, ["report", "run:9", "--html", "-", "--db", str(db)])
    assert told.exit_code == 2
    assert "run:9 does not exist; expected a run with results, the latest are run:2, run:1" in (
        told.output
    )
    assert CliRunner().invoke(main, ["report", "--db", str(db)]).exit_code == 2


def test_report_writes_the_page_of_a_run_without_kernels(tmp_path: Path) -> None:
    db, page = tmp_path / "results.db", tmp_path / "run.html"
    add_run(db, [], save="base", **{WITHOUT_KERNELS: True})
    for name in ("base", "run:1", "latest"):
        told = CliRunner().invoke(main, ["report", name, "--html", str(page), "--db", str(db)])
        assert told.exit_code == 0, told.output
        assert "Wrote run 1 with 0 results" in told.output
        assert "0 of 0 correct" in page.read_text()


@pytest.mark.parametrize("command", [["report", "--html", "-"], ["compare"], ["summary"]])
def test_commands_explain_alike_why_a_run_has_no_results(tmp_path: Path, command: Any) -> None:
    db = tmp_path / "results.db"
    number = add_run(db, [], ended="interrupted")
    first, *rest = command

    def fail(run: str) -> str:
        told = CliRunner().invoke(main, [first, run, *rest, "--db", str(db)])
        assert told.exit_code == 2
        return " ".join(told.output.split())

    expected = f"run:{number} has no results: it was interrupted before its first kernel finished"
    assert f"{expected}; expected a run with results, `metalbench run` makes one" in fail("run:1")
    assert "latest: expected 1 or more runs in this project, got 0; `metalb" in fail("latest")
    add_run(db, RESULTS[:1], save="main")
    assert f"{expected}; expected a run with results, the latest are run:2" in fail("run:1")
    text = "latest~1: expected 2 or more runs in this project, got 1 (run:2); `metalbench run`"
    assert text in fail("latest~1")
    assert "or one of the saved names main; did you mean 'main'?" in fail("mian")


def test_the_page_of_a_run_has_the_past_up_to_it(tmp_path: Path) -> None:
    db = tmp_path / "results.db"
    other = replace(correct("softmax", seed=1), case=case("softmax", "kernel void other() {}\n"))
    large = replace(correct("softmax"), case=replace(case("softmax"), sizes={"rows": 7, "cols": 7}))
    runs = [add_run(db, [each]) for each in (other, correct("softmax"), large, correct("softmax"))]
    with Store(db) as store:
        pasts = {run: read_pasts(store.results(run), store.history) for run in runs}
        page = page_of_run(store.read_run(runs[-1]), store.samples, store.history)
    # A size with other extents is another past.
    assert (pasts[runs[0]], pasts[runs[2]]) == ({}, {})
    (last,) = pasts[runs[3]].values()
    assert last.by_reference
    assert [(each.run, each.is_same) for each in last.results] == [
        (runs[0], False),
        (runs[1], True),
        (runs[3], True),
    ]
    (row_of_page,) = page.boards[0].rows
    assert row_of_page.past == last
    (earlier,) = pasts[runs[1]].values()
    assert [each.run for each in earlier.results] == runs[:2]


def test_run_writes_a_page_with_its_past(tmp_path: Path) -> None:
    db, page = tmp_path / "results.db", tmp_path / "run.html"
    command = ["run", "relu", "--device", "cpu", "--size", "small", "--time", "0.05", "-q"]
    text = ""
    # Each run chooses the form of MLX's function that it compares with. Only results against the
    # same form are one past, and of four runs two have the same.
    for _ in range(4):
        told = CliRunner().invoke(main, [*command, "--db", str(db), "--html", str(page)])
        assert told.exit_code == 0, told.output
        text = page.read_text()
        if '<figure class="past">' in text:
            break
    assert text.count('<figure class="past">') == 1
    assert "The roof: " in text
    assert "measured on this machine with plain kernels" in text


GUARDED = """// Softmax.
#ifndef METALBENCH_INCLUDED_0
#define METALBENCH_INCLUDED_0
// Rows of matrices.
#ifdef FAST
#define QUADS 4
#endif
#ifndef METALBENCH_INCLUDED_1
#define METALBENCH_INCLUDED_1
// Sums.
float sum(float x);
#endif
float row(float x);
#endif
kernel void softmax() {}
"""


def test_headers_are_separated_from_the_kernels_lines() -> None:
    own, headers = separate_headers(GUARDED)
    inner, outer = headers
    assert own == f"// Softmax.\n// included: {outer.key}\nkernel void softmax() {{}}\n"
    assert (inner.title, outer.title) == ("Sums.", "Rows of matrices.")
    assert inner.text == "// Sums.\nfloat sum(float x);"
    assert outer.text.endswith("#endif\nfloat row(float x);")
    assert (inner.name, outer.name) == (inner.key, outer.key)
    torn = GUARDED.replace("float row(float x);\n#endif\n", "float row(float x);\n")
    assert separate_headers(torn) == (torn, ())
    assert separate_headers("kernel void k() {}\n") == ("kernel void k() {}\n", ())


def test_headers_of_the_library_have_their_names_in_every_order_of_includes() -> None:
    first = '#include "metalbench/rope.h"\n#include "metalbench/rows.h"\n'
    other = '#include "metalbench/rows.h"\n#include "metalbench/rope.h"\n'
    folder = [str(library_folder() / "include")]
    found = [
        separate_headers(_core.with_includes(each, include_dirs=folder)) for each in (first, other)
    ]
    names = [{each.name for each in headers} for _, headers in found]
    assert names[0] == names[1] > {"metalbench/rope.h", "metalbench/rows.h", "metalbench/quads.h"}
    assert all(name.startswith("metalbench/") for name in names[0])
    assert found[0][0] == "// included: metalbench/rope.h\n// included: metalbench/rows.h\n"


def test_a_page_of_the_library_has_each_header_once_and_at_most_2_mb() -> None:
    samples = tuple(1000.0 + each for each in range(MOST_SAMPLES))
    past = Past(
        True,
        tuple(
            PastResult(about(1.0 + day), f"{day:040x}", "2030-01-02T03:04:05+00:00", day, True)
            for day in range(MOST_PAST)
        ),
    )
    rows = tuple(
        row(each.name, source=each.kernel().text, samples_ns=samples, history=(), past=past)
        for each in Library()
    )
    text = to_html(Page("run", "lead", (Board(CPU, "vectors", rows),)))
    keys = {header.key for each in rows for header in separate_headers(each.source)[1]}
    assert all(text.count(f'<details id="header-{key}"') == 1 for key in keys)
    assert len(keys) > 10
    assert len(text.encode()) <= 2_000_000
