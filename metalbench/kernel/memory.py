"""Allocate guarded device memory, and the tables of counted builds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.task.dtypes import DType

GUARD_BYTES = 16 * 1024
# A quiet NaN in float32, float16 and bfloat16 alike, and far out of range as an index.
_PATTERN = np.uint16(0xFFE5)
# Runs alternate between the two, so that results that depend on unwritten memory differ between
# runs. The second is a number, for kernels that replace NaN.
POISONS = (_PATTERN, np.uint16(0xA5A5))
_CHUNK = 1 << 20


class GuardedBuffer:
    """Memory of one array on a device, with 16 KiB on both sides that no kernel may touch.

    It holds `contents`, else poison.
    """

    def __init__(
        self,
        device: _core.Device,
        shape: tuple[int, ...],
        dtype: DType,
        guard_bytes: int = GUARD_BYTES,
        contents: np.ndarray[Any, Any] | None = None,
    ) -> None:
        self.shape = shape
        self._guard = guard_bytes
        self.dtype = dtype
        self._poison = _PATTERN
        self.nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.nbytes
        # Rounded up, so that the pattern's two bytes fit a whole number of times.
        self._whole = device.allocate(2 * guard_bytes + self.nbytes + self.nbytes % 2)
        self._memory: np.ndarray[Any, Any] = self._whole.numpy("uint8")
        self.buffer = self._whole.slice(guard_bytes, self.nbytes)
        words = self._memory.view(np.uint16)
        if contents is None:
            words.fill(_PATTERN)
            return
        words[: guard_bytes // 2].fill(_PATTERN)
        words[(guard_bytes + self.nbytes) // 2 :].fill(_PATTERN)
        self.fill(contents)

    @property
    def bytes(self) -> np.ndarray[Any, Any]:
        """The array's own bytes: a writable view, uint8."""
        return self._memory[self._guard : self._guard + self.nbytes]

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The array: a writable view of its shape and element type."""
        return self.bytes.view(self.dtype.numpy).reshape(self.shape)

    def fill(self, array: np.ndarray[Any, Any]) -> None:
        """Copy `array` in, bit by bit."""
        np.copyto(self.bytes, _bytes_of(array))

    def poison(self, turn: int = 0) -> None:
        """Fill the array with poison: a NaN, or -2.87e-16 in odd turns."""
        self._poison = POISONS[turn % len(POISONS)]
        even = self.nbytes - self.nbytes % 2
        self.bytes[:even].view(np.uint16).fill(self._poison)
        self.bytes[even:].fill(int(self._poison) & 0xFF)

    def poison_places(self, places: np.ndarray[Any, Any]) -> None:
        """Poison the elements where `places`, flat and boolean, is true, as `poison` last did."""
        bits = self.bytes.view(f"u{self.dtype.nbytes}")
        bits[places] = _repeat(self._poison, self.dtype.nbytes).view(bits.dtype)

    def fill_places(self, places: np.ndarray[Any, Any], array: np.ndarray[Any, Any]) -> None:
        """Copy the elements of `array` in where `places`, flat and boolean, is true."""
        bits = self.bytes.view(f"u{self.dtype.nbytes}")
        bits[places] = _bytes_of(array).view(bits.dtype)[places]

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        """Return whether the memory still has the bits of `array`."""
        return all(
            np.array_equal(mine, theirs)
            for mine, theirs in zip(_chunks(self.bytes), _chunks(_bytes_of(array)), strict=True)
        )

    def unwritten(self) -> np.ndarray[Any, Any]:
        """Return a boolean array: which elements still hold the poison."""
        same = self.bytes == _repeat(self._poison, self.nbytes)
        poisoned: np.ndarray[Any, Any] = same.reshape(*self.shape, self.dtype.nbytes).all(axis=-1)
        return poisoned

    def broken_guard(self) -> str:
        """Return the place of a write to a guard zone, as a phrase; empty if both are intact."""
        front = self._memory[: self._guard]
        hit = np.flatnonzero(front != _GUARD[: self._guard])
        if hit.size:
            return f"{self._guard - int(hit[-1])} bytes before its start"
        back = self._memory[self._guard + self.nbytes :]
        # The pattern continues through the array: after an odd number of bytes, its second byte.
        odd = self.nbytes % 2
        hit = np.flatnonzero(back != _GUARD[odd : odd + back.size])
        return f"{int(hit[0])} bytes past its end" if hit.size else ""


def _repeat(word: np.uint16, count: int) -> np.ndarray[Any, Any]:
    """Return `count` bytes that repeat `word`."""
    return np.full((count + 1) // 2, word).view(np.uint8)[:count]


# Both zones are compared after every run. One of an array of odd size has a byte more.
_GUARD = _repeat(_PATTERN, GUARD_BYTES + 2)


def _bytes_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _chunks(flat: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    for start in range(0, flat.size, _CHUNK):
        yield flat[start : start + _CHUNK]


# The buffer of counts of a counted build, in the layout of csrc/msl/mb/cpu/counts.h.

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
    from metalbench.msl.toolchain.compile_kernel import numbers_of

    program = engine.parse(source, **options)
    tables = {}
    for name in functions:
        built = engine.build(program, name, fast_math=fast_math, counted=True)
        tables[name] = Table(**numbers_of(Path(built.path)))
    return tables
