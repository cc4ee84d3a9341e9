"""Bytes that a kernel requests, counted in its source, with the bytes that its task declares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CountedBytes:
    """Bytes of device memory in one pass at `size`, of all dispatches.

    `read` and `written` are the bytes that threads request. `unique_read` and `unique_written` are
    sums over dispatches of bytes that are read or written at least once. `declared` is the minimum
    of bytes that must move. `timed` is whether `size` is the size that was timed.
    """

    size: str
    timed: bool
    read: int
    written: int
    unique_read: int
    unique_written: int
    declared: int

    @property
    def ratio(self) -> float:
        """Bytes requested / bytes declared; NaN if none are declared."""
        return (self.read + self.written) / self.declared if self.declared else float("nan")
