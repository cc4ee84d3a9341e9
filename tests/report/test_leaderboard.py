"""The records in the terminal and as data: separate for each device, with simulations marked."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from example_results import CPU, GPU, correct, on_gpu
from rich.console import Console

from metalbench.compare import Decision, Ruling
from metalbench.report.console import PIPE_WIDTH
from metalbench.report.leaderboard import (
    CSV_COLUMNS,
    leaderboard_report,
    past_report,
    ruling_lines,
    to_csv,
    to_json,
    to_markdown,
)
from metalbench.report.page.document import to_html
from metalbench.report.page.model import page_of_records
from metalbench.report.warnings import SIMULATION
from metalbench.stats import Interval, Verdict
from metalbench.store.environment import environment
from metalbench.store.records import RecordClaim
from metalbench.store.store import Store

GAINS = (Interval(1.5, 1.4, 1.6), Interval(1.4, 1.3, 1.5))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Records of two tasks of a simulation, and of one of them of a GPU, which is the second."""
    with Store(tmp_path / "results.db") as opened:
        over = None
        for device, task, seed in (
            (CPU, "softmax", 0),
            (CPU, "relu", 0),
            (GPU, "softmax", 0),
            (GPU, "softmax", 1),
        ):
            result = correct(task, seed)
            result = on_gpu(result) if device is GPU else result
            here = replace(environment(), engine="vectors")
            number = opened.record(opened.begin_run({}, device, here), result)
            place = opened.place_of(number)
            over = opened.record_at(place)
            author = "Ada" if seed else ""
            before = over.number if over else None
            claim = RecordClaim(number, "//", "test", before, GAINS if over else (), author)
            assert opened.keep_record(place, claim)
        yield opened


def printed(store: Store, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=width < 1000)
    console.print(leaderboard_report(store.records(), console))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_every_device_has_a_separate_table(store: Store) -> None:
    text = printed(store, PIPE_WIDTH)
    gpu, simulated = text.split("cpu (Example CPU, 2 cores), vectors")
    assert gpu.startswith("metal (Apple M4, m4, 10 cores)\n")
    assert (gpu.count("float32"), simulated.count("float32")) == (1, 2)
    assert SIMULATION not in gpu
    assert SIMULATION in simulated
    line = next(line for line in simulated.splitlines() if line.startswith("softmax"))
    assert " ".join(line.split()).startswith(
        "softmax float32 seed 12.35 us [12.26, 12.44] 24.7 us [24.6, 24.8] 2.01x [1.99, 2.02] "
        "FASTER"
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_records_fit_usual_widths(store: Store, width: int) -> None:
    text = printed(store, width)
    assert "…" not in text
    assert "FASTER" in text


def test_json_and_csv_have_every_record_with_its_device(store: Store) -> None:
    document = json.loads(to_json(store.records(), store.records_of))
    gpu, simulated = document["devices"]
    assert (gpu["device"]["kind"], gpu["note"], gpu["engine"]) == ("metal", None, "")
    assert (simulated["note"], simulated["engine"]) == (SIMULATION, "vectors")
    (record,) = gpu["records"]
    assert record["records"] == 2
    assert record["gains"][0] == {"value": 1.5, "low": 1.4, "high": 1.6}
    assert record["source"] == correct().case.source
    rows = list(csv.DictReader(io.StringIO(to_csv(store.records(), store.records_of))))
    assert list(rows[0]) == list(CSV_COLUMNS)
    assert [(row["device"], row["task"], row["records"]) for row in rows] == [
        ("metal", "softmax", "2"),
        ("cpu", "relu", "1"),
        ("cpu", "softmax", "1"),
    ]
    assert float(rows[0]["gpu_ns"]) == record["gpu_ns"]["value"]


def test_records_have_their_author_and_origin(store: Store) -> None:
    gpu = next(each for each in store.records() if each.place.device_kind == "metal")
    assert (gpu.author, gpu.origin, gpu.by) == ("Ada", "test", "Ada (test)")
    (line,) = [each for each in printed(store, PIPE_WIDTH).splitlines() if "Ada" in each]
    assert line.rstrip().endswith("Ada (test)")
    rows = list(csv.DictReader(io.StringIO(to_csv(store.records(), store.records_of))))
    assert [row["author"] for row in rows] == ["Ada", "", ""]
    assert "| Ada (test) |" in to_markdown(store.records())
    assert "Ada (test)" in to_html(page_of_records(store.records(), store.records_of))


def test_past_report_has_every_record_of_a_place(store: Store) -> None:
    gpu = [each for each in store.records() if each.place.device_kind == "metal"]
    console = Console(file=io.StringIO(), width=PIPE_WIDTH)
    console.print(past_report(gpu, store.records_of, console))
    assert isinstance(console.file, io.StringIO)
    head, _, latest, first, *_ = (
        " ".join(line.split()) for line in console.file.getvalue().splitlines()
    )
    assert head == "softmax (seed): metal (Apple M4, m4, 10 cores)"
    assert "1.5x [1.4, 1.6] and 1.4x [1.3, 1.5]" in latest
    assert latest.endswith("Ada (test)")
    assert "the first" in first
    assert first.endswith("test")


def test_markdown_is_a_table_for_each_device(store: Store) -> None:
    text = to_markdown(store.records())
    gpu, simulated = text.split("### cpu (Example CPU, 2 cores), vectors")
    assert SIMULATION in simulated
    assert SIMULATION not in gpu
    assert "| softmax | float32 | seed | 12.35 us [12.26, 12.44] |" in simulated


def test_the_page_has_the_history_of_each_record(store: Store) -> None:
    html = to_html(page_of_records(store.records(), store.records_of))
    assert html.count("<details") == 3
    assert "1.5x [1.4, 1.6] and 1.4x [1.3, 1.5]" in html
    assert html.count(">the first<") == 3


def test_ruling_lines_has_no_line_for_a_first_record_and_ends_with_counts(store: Store) -> None:
    record = store.records()[0]
    base = Ruling(1, record.place, record, Decision.FIRST, "there was none")
    new = replace(base, decision=Decision.NEW, why="x", verdict=Verdict.FASTER, gains=GAINS)
    bad = replace(base, decision=Decision.REFUSED, why="the kernel is incorrect")
    lines = list(ruling_lines([base, new, bad]))
    assert lines == [
        "relu (seed): new record: x: 1.5x [1.4, 1.6] and 1.4x [1.3, 1.5] as fast.",
        "relu (seed): refused: the kernel is incorrect.",
        "Records: 1 first, 1 new, 1 refused. `metalbench leaderboard` shows them.",
    ]
    assert list(ruling_lines([])) == []
