"""The list of costly tests: what `tools/list_costs.py` makes of records."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools/list_costs.py"))


def test_a_test_costs_what_its_longest_case_costs() -> None:
    lines = [json.dumps(line) for line in (["a.py::one[x]", 1.5], ["a.py::one[y]", 2.5], ["b", 1])]
    assert TOOL["read_costs"](lines) == {"a.py::one": 2.5, "b": 1}


def test_the_list_is_in_falling_order_and_forgets_what_is_cheap_or_gone(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).touch()
    kept = "gone.py::one 9.0\na.py::kept 3.0\na.py::cheaper 8.0\n"
    recorded = {"a.py::cheaper": 0.4, "b.py::new": 4.04, "b.py::cheap": 0.3}
    assert TOOL["merge"](kept, recorded, tmp_path) == "b.py::new 4.0\na.py::kept 3.0\n"


def test_the_list_made_again_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    listed = TOOL["merge"]("", {"a.py::one": 2.01, "a.py::other": 2.04}, tmp_path)
    assert TOOL["merge"](listed, {}, tmp_path) == listed


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_run_records_the_time_of_each_case(tmp_path: Path, workers: tuple[str, ...]) -> None:
    path = tmp_path / "costs.jsonl"
    test = "tests/tools/test_list_costs.py::test_a_test_costs_what_its_longest_case_costs"
    options = ["-q", "-p", "no:cacheprovider", *(workers or ("-n", "0"))]
    command = [sys.executable, "-m", "pytest", *options, "--record-costs", str(path), test]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (line,) = path.read_text().splitlines()
    name, seconds = json.loads(line)
    assert name == test
    assert 0 <= seconds < 60
