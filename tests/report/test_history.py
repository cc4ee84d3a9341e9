"""A task's past: one table for each device."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from example_results import CPU, GPU, correct, on_gpu
from rich.console import Console
from rich.table import Table

from metalbench.report.console import PIPE_WIDTH
from metalbench.report.history import history_tables
from metalbench.store.environment import environment
from metalbench.store.history import HistoryEntry
from metalbench.store.store import Store


def pipe() -> Console:
    return Console(file=io.StringIO(), width=PIPE_WIDTH, highlight=False)


def history(tmp_path: Path) -> list[HistoryEntry]:
    """Runs on the CPU and on two GPUs in turn, the latest first."""
    with Store(tmp_path / "results.db") as store:
        for device in (CPU, GPU, replace(GPU, name="Apple M4 Max"), CPU):
            run = store.begin_run({}, device, environment())
            result = correct() if device is CPU else on_gpu(correct())
            store.record(run, replace(result, device=device))
        return store.history("softmax")


def lines_of(table: Table) -> list[str]:
    console = pipe()
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_every_device_has_its_own_table(tmp_path: Path) -> None:
    tables = dict(history_tables(history(tmp_path), pipe()))
    assert list(tables) == ["cpu (Example CPU)", "metal (Apple M4)", "metal (Apple M4 Max)"]
    assert [table.row_count for table in tables.values()] == [2, 1, 1]


def test_only_gpus_have_a_column_of_gpu_time(tmp_path: Path) -> None:
    tables = dict(history_tables(history(tmp_path), pipe()))
    for name, table in tables.items():
        heading = re.split(r"  +", lines_of(table)[0].strip())
        assert (heading[-1] == "GPU time") == name.startswith("metal")


def test_history_tables_is_empty_without_runs() -> None:
    assert list(history_tables([], pipe())) == []


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_history_tables_fit_usual_widths(tmp_path: Path, width: int) -> None:
    for _, table in history_tables(history(tmp_path), terminal := narrow(width)):
        terminal.print(table)
    assert isinstance(terminal.file, io.StringIO)
    text = terminal.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for part in ("12.35 us", "[12.26, 12.44]", "2.01x", "FASTER", "GPU time", "revision"):
        assert part in text


def narrow(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
