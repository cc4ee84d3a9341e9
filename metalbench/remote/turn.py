"""One kernel at a time on a machine, however many sessions other machines have with it."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

WAITING = "another session has the machine; waiting for it"


@contextmanager
def hold_machine(told: Callable[[str], None]) -> Iterator[None]:
    """Wait until no other session of this user runs a kernel; `told` is told if one does.

    The system lets go of a turn when its process ends, however that happens.
    """
    with get_lock_file().open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            told(WAITING)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def get_lock_file() -> Path:
    """The file that whoever runs a kernel holds."""
    return Path(tempfile.gettempdir()) / f"metalbench-{os.getuid()}.lock"
