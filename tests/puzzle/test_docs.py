"""The examples of docs/tutorial/puzzles.md work."""

from __future__ import annotations

import re
from pathlib import Path

from metalbench.puzzle.attempt import check
from metalbench.puzzle.puzzle import series

PAGE = (Path(__file__).parents[2] / "docs/tutorial/puzzles.md").read_text()
FILE, SCRIPT = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_python_file_solves_its_puzzle(tmp_path):
    path = tmp_path / "guard.py"
    path.write_text(FILE)
    assert check("guard", path).at_target


def test_the_script_runs(capsys):
    exec(compile(SCRIPT, "<script>", "exec"), {})
    assert "Solved, with no more accesses" in capsys.readouterr().out


def test_every_puzzle_is_in_the_table():
    for puzzle in series():
        assert f"{puzzle.number} {puzzle.name}" in PAGE
