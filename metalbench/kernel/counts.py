"""The buffer of counts of a counted build, in the layout of csrc/msl/mb/cpu/counts.h."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from metalbench import _core

# The argument that a counted kernel has in addition. No source can say such a name.
COUNTS = "(counts)"


class Head(IntEnum):
    """The first words of 64 bits."""

    SITES = 0
    SEGMENTS = 1
    TRACE_CAPACITY = 2
    TRACE_RECORDS = 3
    THREADS = 4
    SIMDGROUPS = 5
    MOST_DEVICE_READS = 6
    MOST_DEVICE_WRITES = 7
    MOST_THREADGROUP_READS = 8
    MOST_THREADGROUP_WRITES = 9
    WORDS = 16


BUFFERS = 32
SPACES = ("device", "constant", "threadgroup")
COLUMNS = (
    "by_threads",
    "by_simdgroups",
    "bytes",
    "transactions",
    "least_transactions",
    "bank_turns",
    "least_bank_turns",
    "contended",
)
TRACE_WORDS = 4
Words = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True)
class Table:
    """The meaning of the counts of a kernel, as `msl.transforms.counting` writes it.

    `sites` are instructions that access memory, `segments` are pieces of code without branches.
    """

    sites: Sequence[Mapping[str, Any]]
    segments: Sequence[Mapping[str, Any]]


class CountsBuffer:
    """The buffer of one dispatch's counts."""

    def __init__(self, device: _core.Device, table: Table, traced: int = 0) -> None:
        self.table = table
        self._rows = Head.WORDS + 2 * BUFFERS + 2 * len(table.segments)
        cells = len(table.sites) * len(SPACES) * len(COLUMNS)
        words = self._rows + cells + traced * TRACE_WORDS
        self.buffer = device.allocate(8 * words)
        self._words: Words = self.buffer.numpy("uint8").view(np.uint64)
        self._words[[Head.SITES, Head.SEGMENTS]] = len(table.sites), len(table.segments)
        self._words[Head.TRACE_CAPACITY] = traced

    def head(self, what: Head) -> int:
        """Return one of the first words."""
        return int(self._words[what])

    @property
    def unique_bytes(self) -> Words:
        """Bytes read and bytes written at least once, by buffer: an array (32, 2)."""
        return self._words[Head.WORDS : Head.WORDS + 2 * BUFFERS].reshape(-1, 2)

    @property
    def segments(self) -> Words:
        """How often each segment was run, by threads and by SIMD-groups: an array (segments, 2)."""
        return self._words[Head.WORDS + 2 * BUFFERS : self._rows].reshape(-1, 2)

    @property
    def sites(self) -> Words:
        """An array (sites, SPACES, COLUMNS)."""
        shape = len(self.table.sites), len(SPACES), len(COLUMNS)
        return self._words[self._rows : self._rows + int(np.prod(shape))].reshape(shape)

    @property
    def trace(self) -> Words:
        """Of each recorded access: site, threadgroup, thread, and where; an array (records, 4)."""
        start = self._rows + self.sites.size
        records = min(self.head(Head.TRACE_RECORDS), self.head(Head.TRACE_CAPACITY))
        return self._words[start : start + TRACE_WORDS * records].reshape(-1, TRACE_WORDS)


def build_tables(
    source: str, functions: Iterable[str], options: Mapping[str, Any], *, fast_math: bool
) -> dict[str, Table]:
    """Return the tables of counted kernels that have been compiled, by function."""
    from metalbench.msl import engine
    from metalbench.msl.building.counted import numbers_of

    program = engine.parse(source, **options)
    tables = {}
    for name in functions:
        built = engine.build(program, name, fast_math=fast_math, counted=True)
        tables[name] = Table(**numbers_of(Path(built.path)))
    return tables
