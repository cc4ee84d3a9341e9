"""Every task of the library on a Metal device, from its file to the store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from short_form import draw_index

from metalbench.cli import main
from metalbench.kernel.library import Library

pytestmark = pytest.mark.metal


NAMES = Library().names("all")
TASK_OF_THE_DAY = NAMES[draw_index("a task on metal", len(NAMES))]


@pytest.mark.parametrize(
    "names", [[TASK_OF_THE_DAY], pytest.param(NAMES, marks=pytest.mark.slow)], ids=["one", "all"]
)
def test_tasks_are_correct(names: list[str], tmp_path: Path) -> None:
    # The double exists in this process only.
    options = ["--in-process", "--device", "metal", "--size", "small", "--time", "0.02"]
    result = CliRunner().invoke(
        main, ["run", *names, *options, "--json", "-", "--db", str(tmp_path / "results.db")]
    )
    assert result.exit_code == 0, result.output
    entries = json.loads(result.stdout)["results"]
    assert {entry["task"] for entry in entries} == set(names)
    assert {entry["status"] for entry in entries} == {"correct"}
    assert all(entry["gpu_ns"]["value"] > 0 for entry in entries)
