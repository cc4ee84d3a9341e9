"""Folders for files of one process, which another one removes if that was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

# How old a folder is at least that nobody has locked: one that is being made is not locked yet.
SECONDS_TO_LOCK = 2.0


class Scratch:
    """A new folder at `path`, in the system's for temporary files, and called after `prefix`.

    What processes that were killed have left with the same prefix is removed first. One that is
    `numbered` has the first number that is free: so paths are the same again, and what is cached
    by them is found.
    """

    def __init__(self, prefix: str, *, numbered: bool = False) -> None:
        remove_abandoned(prefix)
        made = _make_numbered_folder(prefix) if numbered else tempfile.mkdtemp(prefix=prefix)
        self.path = Path(made).resolve()
        # Held until the process ends, however it ends.
        self._lock: int | None = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove the folder with all that is in it, as far as that is possible."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned(prefix: str) -> None:
    """Remove the folders of processes that were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # another one removes it, has it, or it is another user's
            _remove_if_abandoned(path)


def _make_numbered_folder(prefix: str) -> str:
    """Make the folder of the first number that nobody has."""
    for number in count():
        path = os.path.join(tempfile.gettempdir(), f"{prefix}{number}")
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
            return path
    raise AssertionError("numbers end")


def _remove_if_abandoned(path: Path) -> None:
    """Remove a folder that nobody has locked; raises OSError if somebody has."""
    lock = os.open(path, os.O_RDONLY)
    try:
        # Held to the end: a folder that is made anew by that name is not this one, and stays.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(lock).st_mtime >= SECONDS_TO_LOCK:
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
