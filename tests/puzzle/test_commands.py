"""``metalbench puzzles``: the list, statements and hints, files to begin with, checks."""

from __future__ import annotations

import json
from pathlib import Path

from metalbench.puzzle.puzzle import filled, find


def test_a_puzzle_from_the_list_to_its_solution(shell, tmp_path):
    listed = shell()
    assert listed.exit_code == 0, listed.output
    assert listed.output.count("\n") == 17
    assert "Go on with: metalbench puzzles show 1" in listed.output
    assert "// Your code" in shell("show", 1).output
    begun = shell("start", "map")
    path = tmp_path / "my_puzzles/01_map.metal"
    assert begun.output.endswith("then: metalbench puzzles check 1\n")
    missed = shell("check", 1)
    assert missed.exit_code == 1
    assert "nothing was written" in missed.output
    path.write_text(filled(find(1), "  float v = x[i];\n  y[i] = v * (1 - v);"))
    done = shell("check", 1, "--json", "-")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["solved"], found["at_target"], found["wrong"]) == (True, True, None)
    listed = shell().output
    assert "solved, at the target  2 " in listed
    assert "Go on with: metalbench puzzles show 2" in listed


def test_hint_prints_one_hint_at_a_time(shell):
    puzzle = find(2)
    shown = [shell("show", "zip").output, *(shell("show", 2, "--hint").output for _ in range(3))]
    assert [text.count("\nHint ") for text in shown] == [0, 1, 2, 2]
    assert shown[-1].startswith("There are no more hints.")
    assert len(puzzle.hints) == 2
    assert "2 of 2" in shell().output


def test_a_file_is_not_written_twice(shell, tmp_path):
    path = tmp_path / "mine/03_guard.py"
    begun = shell("start", 3, "--python", "--into", "mine")
    assert begun.output.endswith("metalbench puzzles check 3 mine/03_guard.py\n")
    assert "mx.fast.metal_kernel" in path.read_text()
    again = shell("start", 3, "--python", "--into", "mine")
    assert again.exit_code == 2
    assert "is already there" in again.output


def test_missing_files_and_puzzles_are_reported(shell, tmp_path):
    missing = shell("check", 4)
    assert missing.exit_code == 2
    assert "`metalbench puzzles start 4` writes one" in missing.output
    Path("a.txt").write_text("")
    assert "expected a .metal or a .py file" in shell("check", 4, "a.txt").output
    assert "did you mean 'matmul'" in shell("show", "matmull").output
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home/puzzles.json").write_text("{")
    assert "remove it to begin anew" in shell().output


def test_the_accesses_are_drawn(shell, tmp_path):
    Path("b.metal").write_text(filled(find(2), "  y[i] = abs(a[i] - b[i]);"))
    done = shell("check", 2, "b.metal", "--picture", "b.svg")
    assert done.exit_code == 0, done.output
    assert "<svg" in Path("b.svg").read_text()
