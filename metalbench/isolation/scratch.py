"""Temporary folders of one process, removed by another process if the first was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

# Least age of an abandoned folder: a folder is not locked yet while it is being created.
SECONDS_TO_LOCK = 2.0


class Scratch:
    """A new folder at `path` in the system's temporary folder; its name begins with `prefix`.

    Abandoned folders with the same prefix are removed first. A `numbered` folder has the first free
    number, so that paths, and caches keyed by paths, are the same in the next session.
    """

    def __init__(self, prefix: str, *, numbered: bool = False) -> None:
        remove_abandoned(prefix)
        made = _make_numbered_folder(prefix) if numbered else tempfile.mkdtemp(prefix=prefix)
        self.path = Path(made).resolve()
        # The system releases the lock when the process ends.
        self._lock: int | None = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove the folder and its content as far as possible."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned(prefix: str) -> None:
    """Remove the folders of processes that were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # another process removes it or holds it, or another user owns it
            _remove_if_abandoned(path)


def _make_numbered_folder(prefix: str) -> str:
    """Create the folder with the first free number."""
    for number in count():
        path = os.path.join(tempfile.gettempdir(), f"{prefix}{number}")
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
            return path
    raise AssertionError("unreachable")


def _remove_if_abandoned(path: Path) -> None:
    """Remove a folder that is not locked. Raises OSError if a process holds its lock."""
    lock = os.open(path, os.O_RDONLY)
    try:
        # Keep the lock until the end: a new folder with this name is another inode and remains.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(lock).st_mtime >= SECONDS_TO_LOCK:
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
