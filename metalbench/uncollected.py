"""Times in which Python looks for no garbage in cycles, in any thread."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Collection:
    """Python's collection, and how many hold it off."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._was_on = False

    def hold_off(self) -> None:
        """Have it off, until as many as that have let it go on."""
        with self._lock:
            if self._holders == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._holders += 1

    def let_go_on(self) -> None:
        """For this one's part."""
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and self._was_on:
                gc.enable()


_COLLECTION = _Collection()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Collection is off until the last of those that hold it off, in whatever threads, is done."""
    _COLLECTION.hold_off()
    try:
        yield
    finally:
        _COLLECTION.let_go_on()
