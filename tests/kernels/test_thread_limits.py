"""Kernels whose threadgroups are large say so in an attribute, whatever their tunables are."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

from metalbench.expression import Expression, parse
from metalbench.kernel.header import Dispatch, Kernel
from metalbench.kernel.library import Entry, Library
from metalbench.kernel.prepare import count_threads
from metalbench.kernel.source_files import find_included_headers, library_folder

# Without the attribute Metal's compiler chooses the registers of a thread by itself. A pipeline
# then takes only 384 threads in the worst cases seen on Apple GPUs.
SAFE_THREADS = 384
HEADERS = library_folder() / "include"
_CONSTANT = re.compile(r"\bconstexpr uint (\w+) = ([\w +*]+);")
_ATTRIBUTE = r"\[\[kernel, max_total_threads_per_threadgroup\((.*)\)\]\]\s+void\s+{}\("
# Constants of the headers in the order of their definitions.
CONSTANTS = [
    (name, parse(value))
    for path in sorted(HEADERS.rglob("*.h"))
    for name, value in _CONSTANT.findall(path.read_text())
]


def constants_with(values: dict[str, int]) -> dict[str, int]:
    """Return the values of tunables with the constants of the headers that follow from them.

    A constant that is defined twice has the first definition whose names are known: the branch
    for a tunable comes before the branch without it (`tile_layout.h`).
    """
    known = dict(values)
    count = -1
    while count != len(known):
        count = len(known)
        for name, value in CONSTANTS:
            if name not in known and value.names <= known.keys():
                known[name] = value.evaluate(known)
    return known


def solved_entries() -> list[Entry]:
    """Return every task of the library that has a kernel."""
    library = Library()
    names = [*library.names("all"), *library.names("kernelbench")]
    return [entry for entry in map(library.entry, names) if entry.kernel_paths]


def threads_and_values(
    entry: Entry, kernel: Kernel, line: Dispatch
) -> Iterator[tuple[int, dict[str, int]]]:
    """Yield the threads of a dispatch with every choice of its tunables at every size."""
    used = frozenset[str]().union(*(each.names for each in line.threads))
    tunables = sorted(used & kernel.tunables.keys())
    sizes: list[dict[str, int]] = [{}]
    if used - kernel.tunables.keys():
        task = entry.task
        sizes = [dict(task.values(size)) for size in task.sizes]
    for size in sizes:
        for choice in itertools.product(*(kernel.tunables[name] for name in tunables)):
            chosen = dict(zip(tunables, choice, strict=True))
            threads = count_threads(line, {**size, **chosen})
            if threads is not None:
                yield threads, chosen


def read_thread_limit(kernel: Kernel, function: str) -> Expression | None:
    """Return what the attribute of a function has; None without the attribute."""
    # A header may have entry points that several kernels share.
    texts = [kernel.source, *(path.read_text() for path in find_included_headers(kernel.source))]
    found = re.search(_ATTRIBUTE.format(function), "\n".join(texts))
    return parse(found[1]) if found else None


def faults(entry: Entry, kernel: Kernel) -> Iterator[str]:
    """Yield the dispatches whose function has no attribute, or one with fewer threads."""
    for line in kernel.dispatches:
        limit = read_thread_limit(kernel, line.function)
        for threads, values in threads_and_values(entry, kernel, line):
            most = limit.evaluate(constants_with(values)) if limit else SAFE_THREADS
            if threads > most:
                yield f"{kernel.path}: {line.function}: {threads} threads, expected at most {most}"
                break


def test_large_threadgroups_have_the_attribute() -> None:
    found = {fault for entry in solved_entries() for fault in faults(entry, entry.kernel())}
    assert not found, "\n".join(sorted(found))


def test_a_missing_or_small_attribute_is_found() -> None:
    entry = Library().entry("abs")
    kernel = entry.kernel()
    assert 1024 in kernel.tunables["TG"]
    for old, new in (
        (", max_total_threads_per_threadgroup(TG)", ""),
        ("threadgroup(TG)", "threadgroup(512)"),
    ):
        changed = kernel.source.replace(old, new)
        assert changed != kernel.source
        (fault,) = faults(entry, replace(kernel, source=changed))
        assert "threads, expected at most" in fault
