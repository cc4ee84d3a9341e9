"""Processors."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Cores that this process may run on, which a container can make fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
