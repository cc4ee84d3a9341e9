"""Limits of time and memory for one kernel."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

SECONDS = 600.0
# Memory limit of the container on Linux: control groups version 2, then version 1.
CONTAINER = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_bytes() -> int:
    """Return the memory of the machine, or of the container where that is less."""
    known = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in map(Path, CONTAINER):
        try:
            text = path.read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdecimal():
            known.append(int(text))
    return min(known)


def _half_of_memory() -> int:
    return memory_bytes() // 2


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one trial: `seconds`, and `memory_bytes` for its process and that one's children.

    Resident memory counts. Reserved address space does not.
    """

    seconds: float = SECONDS
    memory_bytes: int = field(default_factory=_half_of_memory)
