"""The library's kernels compute the bits that kernels/snapshots.json has hashes of.

Without -m slow a few of them; `metalbench snap` looks at all.
"""

from __future__ import annotations

import platform
import zlib
from collections import Counter
from collections.abc import Iterator

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
QUICK = 4  # one in so many, of those that the short form has


def by_speed() -> Iterator[object]:
    for entry, dtype in CASES:
        name = f"{entry.name}-{dtype}"
        marks = pytest.mark.slow if zlib.crc32(name.encode()) % QUICK else ()
        yield pytest.param(entry, dtype, id=name, marks=marks)


def test_the_file_has_every_kernel_in_every_type_and_no_other() -> None:
    known = Snapshots.read(FILE)
    assert Counter(known.cases()) == Counter((entry.name, dtype) for entry, dtype in CASES)


@pytest.mark.parametrize(("entry", "dtype"), list(by_speed()))
def test_a_kernel_computes_the_bits_it_did(entry: Entry, dtype: str) -> None:
    (found,) = taken([(entry, dtype)])
    change = Snapshots.read(FILE).change(found)
    assert found.fault == ""
    if not HERE or change is Change.OTHER_INPUTS:
        pytest.skip("bits are compared on x86-64, with inputs as this NumPy has drawn them")
    assert change is Change.SAME
