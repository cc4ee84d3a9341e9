"""The performance lints are silent over the library, with the tunables for Apple's GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalbench.checking.check import check
from metalbench.checking.findings import KINDS, PERFORMANCE
from metalbench.kernel.library import Library

LIBRARY = Library()
NAMES = [
    name
    for name in (*LIBRARY.names("all"), *LIBRARY.names("kernelbench"))
    # KernelBench's third level has tasks without kernels.
    if LIBRARY.entry(name).kernel_paths
]

FILE = Path(__file__).with_name("lint_exceptions.txt")
LINES = [line.split() for line in FILE.read_text().splitlines() if not line.startswith("#")]
EXCEPTIONS = {name: set(kinds) for name, *kinds in LINES}


@pytest.mark.parametrize("name", NAMES)
def test_performance_lints_are_silent(name: str) -> None:
    findings = check(name, tools=PERFORMANCE)
    expected = EXCEPTIONS.get(name, set())
    found = [
        f"{each.frame.file}:{each.frame.line}: {each.kind}: {each.message}"
        for each in findings.found
        if each.kind not in expected
    ]
    assert not found, "\n".join(found)
    idle = expected - {each.kind for each in findings.found}
    assert not idle, f"{name} has no finding of {sorted(idle)}: remove it from {FILE.name}"
    assert not findings.skipped
    assert not findings.unused


def test_exceptions_name_kernels_of_the_library() -> None:
    assert EXCEPTIONS.keys() <= set(NAMES)
    assert set().union(*EXCEPTIONS.values()) <= KINDS.keys()
