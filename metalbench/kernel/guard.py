"""Device memory between two guard zones, and the poison that marks unwritten elements."""

from __future__ import annotations

from collections.abc import Iterator
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
