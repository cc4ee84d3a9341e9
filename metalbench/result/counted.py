"""Bytes that a kernel asks for, counted in its source, beside those that its task declares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CountedBytes:
    """Bytes of device memory in one pass at `size`, of all dispatches.

    `read` and `written` are what threads ask for, `unique_read` and `unique_written` the sums over
    dispatches of bytes that are read or written at least once; `declared` is what must move at
    least. `timed` says whether `size` is the one that was timed.
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
        """Bytes asked for / bytes declared; NaN where none are declared."""
        return (self.read + self.written) / self.declared if self.declared else float("nan")
