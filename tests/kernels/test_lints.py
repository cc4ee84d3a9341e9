"""The performance lints are silent over the library, with the tunables for Apple's GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalbench.checking.check import check
from metalbench.checking.findings import PERFORMANCE, read_suppressions
from metalbench.kernel.library import Library
from metalbench.kernel.source_files import include_folders

LIBRARY = Library()
NAMES = [*LIBRARY.names("all"), *LIBRARY.names("kernelbench")]
# What a task asks for. A comment in the file that it shares with others would be unused for these.
ASKED_FOR = {"floor_divide_int32": "integer-division", "remainder_int32": "integer-division"}


@pytest.mark.parametrize("name", NAMES)
def test_performance_lints_are_silent(name: str) -> None:
    findings = check(name, tools=PERFORMANCE)
    found = [
        f"{each.frame.file}:{each.frame.line}: {each.kind}: {each.message}"
        for each in findings.found
        if each.kind != ASKED_FOR.get(name)
    ]
    assert not found, "\n".join(found)
    assert not findings.skipped
    assert not findings.unused


def test_comments_of_headers_allow_kinds_that_exist() -> None:
    """A check reads a header only if a finding is in it."""
    (folder,) = include_folders()
    for path in sorted(Path(folder).rglob("*.h")):
        read_suppressions(path.read_text(encoding="utf-8"), str(path))
