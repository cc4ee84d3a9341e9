"""Bugs planted in small kernels, each with a clean twin: which are found, with kind and line."""

from __future__ import annotations

import pytest
from checking.planted_bugs import BUGGY, CLEAN, SETS, Planted, ledger

from metalbench.checking.check import check
from metalbench.checking.findings import KINDS, Findings

LEDGER = [each for folder in SETS for each in ledger(folder)]
# The time limit of kernels that never end, in s.
TIME_LIMIT = 5.0


def found_in(planted: Planted, tunables: dict[str, int]) -> Findings:
    # Fences are of metal3.2.
    return check(planted.path, tunables=tunables, standard="metal3.2", time_limit=TIME_LIMIT)


def places(findings: Findings) -> set[tuple[str, int]]:
    """A race is at both of its accesses."""
    return {
        (each.kind, line)
        for each in findings.found
        if each.frame is not None
        for line in (each.frame.line, each.other_line)
        if line is not None
    }


def name_of(planted: Planted) -> str:
    return f"{planted.tool}-{planted.name}"


@pytest.mark.parametrize("planted", LEDGER, ids=name_of)
def test_a_planted_bug_is_found_at_its_line_and_its_twin_is_clean(planted):
    """If the ledger lists a bug as not found yet, and it is found, its line must be moved."""
    found = found_in(planted, BUGGY)
    is_found = planted.place in places(found)
    assert is_found == planted.is_found, "\n".join(map(str, found.found))
    assert found_in(planted, CLEAN).found == ()


def test_ledgers_list_every_file_once():
    files = sorted(path for folder in SETS for path in folder.rglob("*.metal"))
    assert sorted(each.path for each in LEDGER) == files


def test_the_ledgers_and_the_marks_agree():
    for each in LEDGER:
        assert each.place[0] == each.kind, each.path
        assert each.kind in KINDS, each.path
        assert KINDS[each.kind].tool == each.tool, each.path


def test_there_are_enough_of_them():
    assert len(LEDGER) >= 300
