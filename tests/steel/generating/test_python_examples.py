"""Python examples for models are correct."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from agent_steel.generating.generate import EXAMPLES
from metalbench.cli import main
from metalbench.kernelbench.candidates.source import NO_KERNEL, NOT_NEEDED

FOLDER = Path(__file__).parents[3] / "agent_steel" / "generating" / "in_python"


def test_each_example_has_its_file() -> None:
    assert {each.stem for each in FOLDER.glob("*.py")} == {*EXAMPLES["few-shot"]}
    assert {*EXAMPLES["one-shot"]} <= {*EXAMPLES["few-shot"]}


@pytest.mark.parametrize("name", EXAMPLES["few-shot"])
def test_an_example_is_correct(tmp_path: Path, name: str) -> None:
    where = ["--db", tmp_path / "results.db", "--device", "cpu", "--time", 0.05]
    command = ["run", FOLDER / f"{name}.py", "--task", name, *where]
    done = CliRunner().invoke(main, list(map(str, command)))
    assert done.exit_code == 0, done.output
    assert NO_KERNEL not in done.output
    assert NOT_NEEDED not in done.output
