"""KERNELS.md says what the library holds now."""

from __future__ import annotations

import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from tool_module import load_tool

from metalbench.kernel.library import Library

ROOT = Path(__file__).parents[2]
LIBRARY = Library()
COMMAND = [sys.executable, str(ROOT / "tools" / "kernels_md.py"), "--check"]


def test_each_kernel_is_in_one_row_of_expectations_and_each_pattern_names_some() -> None:
    tool = load_tool("kernels_md")
    unused = {
        (section, pattern)
        for section, rows in tool.EXPECTED.items()
        for row in rows
        for pattern in row.names.split()
    }
    for entry in map(LIBRARY.entry, LIBRARY.names("all")):
        section = entry.set.rpartition("/")[2]
        row = tool.find_expectation(section, entry.name)  # raises unless there is exactly one
        unused -= {(section, each) for each in row.names.split() if fnmatchcase(entry.name, each)}
    assert not unused
    with pytest.raises(ValueError, match="expected one row of EXPECTED with new, got none"):
        tool.find_expectation("rope", "new")


def test_techniques_are_not_repeated() -> None:
    """Tasks of one kernel refer to the first of them."""
    lines = [line for line in (ROOT / "KERNELS.md").read_text().splitlines() if line[:3] == "| ["]
    techniques = [line.split(" | ")[2] for line in lines]
    said = [each for each in techniques if not each.startswith("As ")]
    assert len(set(said)) == len(said) > 200


def test_the_overview_is_current() -> None:
    done = subprocess.run(COMMAND, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
