"""The performance lints are silent over the library, with the tunables for Apple's GPUs."""

from __future__ import annotations

import pytest

from metalbench.checking.check import check
from metalbench.checking.findings import PERFORMANCE
from metalbench.kernel.library import Library

LIBRARY = Library()
NAMES = [
    name
    for name in (*LIBRARY.names("all"), *LIBRARY.names("kernelbench"))
    # KernelBench's third level has tasks without kernels.
    if LIBRARY.entry(name).kernel_paths
]


@pytest.mark.parametrize("name", NAMES)
def test_performance_lints_are_silent(name: str) -> None:
    findings = check(name, tools=PERFORMANCE)
    found = [
        f"{each.frame.file}:{each.frame.line}: {each.kind}: {each.message}"
        for each in findings.found
    ]
    assert not found, "\n".join(found)
    assert not findings.skipped
    assert not findings.unused
