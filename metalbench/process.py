"""Count processor cores."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def usable_cores() -> int:
    """Return the number of cores that this process may use; a container can restrict it."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# Pause Python's cyclic garbage collector, also for several threads at a time.


class _CollectorPause:
    """The number of contexts that pause the collector, and its state before the first one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._was_on = False

    def enter(self) -> None:
        """Disable the collector for the first context."""
        with self._lock:
            if self._holders == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._holders += 1

    def exit(self) -> None:
        """Restore the collector after the last context."""
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and self._was_on:
                gc.enable()


_PAUSE = _CollectorPause()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Disable the cyclic garbage collector inside this context.

    Contexts of several threads may overlap. The last one to end restores the collector.
    """
    _PAUSE.enter()
    try:
        yield
    finally:
        _PAUSE.exit()
