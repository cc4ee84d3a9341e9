"""The library's kernels compute the bits that kernels/snapshots.json has hashes of.

Without -m slow a few of them; `metalbench snap` looks at all.
"""

from __future__ import annotations

import platform
from collections import Counter

import pytest

from metalbench.kernel.installed import installed_folder
from metalbench.kernel.library import Entry, Library
from metalbench.snapshot import Change, Snapshots, taken

LIBRARY = Library()
FILE = installed_folder() / "snapshots.json"
CASES = [
    (LIBRARY.entry(name), dtype)
    for name in LIBRARY.names("all")
    for dtype in LIBRARY.entry(name).kernel().dtypes
]
# Bits are promised on x86-64: elsewhere a compiler may order what `// math: fast` leaves to it
# otherwise.
HERE = platform.machine() == "x86_64"


def test_the_file_has_every_kernel_in_every_type_and_no_other() -> None:
    known = Snapshots.read(FILE)
    assert Counter(known.cases()) == Counter((entry.name, dtype) for entry, dtype in CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].name}-{case[1]}")
def test_a_kernel_computes_the_bits_it_did(case: tuple[Entry, str]) -> None:
    (found,) = taken([case])
    change = Snapshots.read(FILE).change(found)
    assert change in (Change.SAME, Change.OTHER_INPUTS) or not (HERE or found.fault), found
