"""Folders for files of one process, which another one removes if that was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

# How old a folder is at least that nobody has locked: one that is being made is not locked yet.
SECONDS_TO_LOCK = 2.0


class Scratch:
    """A new folder at `path`, in the system's for temporary files, and called after `prefix`.

    What processes that were killed have left with the same prefix is removed first.
    """

    def __init__(self, prefix: str) -> None:
        remove_left(prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
        # Held until the process ends, however it ends.
        self._lock: int | None = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove the folder with all that is in it, as far as that is possible."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_left(prefix: str) -> None:
    """Remove the folders of processes that were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # another one removes it, or it is another user's
            if time.time() - path.stat().st_mtime >= SECONDS_TO_LOCK and _nobody_has(path):
                shutil.rmtree(path, ignore_errors=True)


def _nobody_has(path: Path) -> bool:
    lock = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
