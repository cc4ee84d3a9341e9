"""Every barrier in the library's kernels and headers is needed, and checked builds say so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from metalbench import _core
from metalbench.kernel.header import Kernel
from metalbench.kernel.library import Entry, Library
from metalbench.kernel.prepare import Builds
from metalbench.kernel.source_files import library_folder
from metalbench.verify import Kind, verify_checked

LIBRARY = Library()
HEADERS = library_folder() / "include"
INCLUDE = re.compile(r'#include "(metalbench/\w+\.h)"')
# A kernel that includes a header may use another part of it; this number is tried.
MOST_TRIED = 8
# Sizes and tunings that reach a barrier which no small size with one large tunable reaches: tiles
# of which threadgroup memory has room for one pair, a vector of more than 4096 columns, and a
# vocabulary of two blocks.
FURTHER: dict[str, list[tuple[str, dict[str, int]]]] = {
    "sqr_mm": [("odd1", {"BM": 128, "BN": 128})],
    "qmv4": [("rows=8,cols=8448", {"STAGED": 1})],
    "sample_token": [("rows=1,vocabulary=33000", {})],
}


def without_each_barrier(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line of each call of a barrier, and `source` without that call."""
    lines = source.splitlines()
    for index, line in enumerate(lines):
        if "_barrier(" in line and line.endswith(";") and not line.lstrip().startswith("//"):
            yield index + 1, "\n".join([*lines[:index], "", *lines[index + 1 :]])


@cache
def included(header: str) -> frozenset[str]:
    """`header` and all that it includes, by the names that include them."""
    inner = INCLUDE.findall((HEADERS / header).read_text())
    return frozenset([header]).union(*map(included, inner))


def name_of_function(source: str, line: int) -> str:
    """Return the name of the function or method that contains a line; empty if not found."""
    before = "\n".join(source.splitlines()[: line - 1])
    names = re.findall(r"^(?: {2})?(?:[\w:<>*&]+ )+(\w+)\(", before, re.MULTILINE)
    return names[-1] if names else ""


def kernels_of(entry: Entry) -> Iterator[Kernel]:
    """Yield the kernel of a task, and its variant with tensors."""
    yield entry.kernel()
    if entry.variant_path is not None:
        yield entry.kernel(standard="metal4.0")


@cache
def list_kernels() -> list[tuple[Entry, Kernel, frozenset[str]]]:
    """Return all kernels with the headers that each includes, also by other headers."""
    names = [*LIBRARY.names("all"), *LIBRARY.names("kernelbench")]
    return [
        (entry, kernel, frozenset().union(*map(included, INCLUDE.findall(kernel.source))))
        for entry in map(LIBRARY.entry, names)
        for kernel in kernels_of(entry)
    ]


def users_of(header: str, function: str) -> list[tuple[Entry, Kernel]]:
    """Return the kernels that include `header` and call its function, also by other headers.

    Kernels that include little else come first. Without a call outside of the header, all of its
    users are returned.
    """
    reached = list_kernels()
    call = re.compile(rf"\b{function}(?:<[^;]*?>)?\(")
    calling = {
        name
        for name in {header, *frozenset().union(*(each for _, _, each in reached))}
        if name != header and call.search((HEADERS / name).read_text())
    }
    including = [each for each in reached if header in each[2]]
    users = [each for each in including if call.search(each[1].source) or calling & each[2]]
    users = sorted(users or including, key=lambda each: len(each[2]))
    return [(entry, kernel) for entry, kernel, _ in users]


OF_KERNELS = [
    pytest.param(entry, replace(kernel, source=source), id=f"{kernel.path.stem}-line{line}")
    for entry in LIBRARY
    for kernel in kernels_of(entry)
    for line, source in without_each_barrier(kernel.source)
]
# The lines after barriers that checked builds do not miss. In the simulation the lanes of products
# and of votes wait for each other, so those of an iteration order the accesses. Metal promises no
# such order.
NOT_MISSED = {
    "radix.h": ["return all + earlier;"],
    "tensor_attention.h": ["numbers.store(rows);", "rounded.store(weights);"],
}
# Conditions that hold in the simulation and not on every GPU: without them the code is reached.
ASSUMED = {
    "tensor_attention.h": "gather.template is_compatible_as_left_input<T, T, float>(rounded)"
}
OF_HEADERS = [
    pytest.param(f"metalbench/{path.name}", line, source, id=f"{path.name}-line{line}")
    for path in sorted((HEADERS / "metalbench").glob("*.h"))
    for line, source in without_each_barrier(path.read_text())
    if source.splitlines()[line].strip() not in NOT_MISSED.get(path.name, ())
]


@pytest.fixture(scope="module")
def device() -> _core.Device:
    return _core.open()


def is_told(device: _core.Device, kernel: Kernel, entry: Entry) -> bool:
    """Return whether checked runs of the kernel find the missing barrier, and nothing else.

    Of several tunings: a threadgroup of one SIMD-group may do without a barrier that others need.
    """
    sizes = [name for name in ("odd1", "odd", "odd2", "small") if name in entry.task.sizes]
    tunings = [{}, *({name: max(values)} for name, values in kernel.tunables.items())]
    for size, tuning in [*product(sizes, tunings), *FURTHER.get(entry.name, ())]:
        builds = Builds(device, kernel, entry.task, dtype_name=kernel.dtypes[0], tunables=tuning)
        report = verify_checked(builds, sizes=[size])
        kinds = [finding.kind for finding in report.findings]
        assert kinds in ([], [Kind.RACE], [Kind.UNINITIALISED]), report.findings
        if kinds:
            return True
    return False


@pytest.mark.parametrize(("entry", "broken"), OF_KERNELS)
def test_a_kernel_needs_its_barrier(entry: Entry, broken: Kernel, device: _core.Device) -> None:
    assert is_told(device, broken, entry)


def test_the_barriers_that_are_not_missed_exist() -> None:
    for name, after in NOT_MISSED.items():
        lines = (HEADERS / "metalbench" / name).read_text().splitlines()
        found = [lines[line].strip() for line, _ in without_each_barrier("\n".join(lines))]
        assert [each for each in found if each in after] == after


@pytest.mark.parametrize(("header", "line", "broken"), OF_HEADERS)
def test_a_header_needs_its_barrier(
    header: str, line: int, broken: str, device: _core.Device, tmp_path: Path
) -> None:
    # Folders given with a kernel are searched before the library's own.
    changed = tmp_path / header
    changed.parent.mkdir()
    assumed = ASSUMED.get(changed.name, "")
    assert assumed in broken
    changed.write_text(broken.replace(assumed, "false") if assumed else broken)
    users = users_of(header, name_of_function(broken, line))
    assert users
    # One of two functions of this name may have another barrier.
    users = users[:: -(-len(users) // MOST_TRIED)]
    assert any(
        is_told(device, replace(kernel, include_dirs=(tmp_path,)), entry) for entry, kernel in users
    )
