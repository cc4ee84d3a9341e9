"""Allow one measurement at a time on a device, across processes."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

from metalbench.errors import MachineError

if TYPE_CHECKING:
    from metalbench.store.result import DeviceFacts

# The interval of attempts to lock a device that another process holds.
SECONDS_BETWEEN_TRIES = 0.05


class DeviceLock:
    """A lock file next to the store. Its holder has exclusive use of a device.

    The operating system releases the lock when the process ends.
    """

    def __init__(self, folder: Path, device: str) -> None:
        name = re.sub(r"\W+", "-", device).strip("-")
        self.path = folder / f"device-{name}.lock"

    @classmethod
    def of(cls, device: DeviceFacts, folder: Path) -> DeviceLock:
        """Return the lock of a device, next to the store in `folder`."""
        return cls(folder, f"{device.kind}-{device.name}")

    @contextmanager
    def hold(self, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold the device; `waiting` is called once if another process holds it.

        Raise MachineError if the file cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = self.path.open("a")
        except OSError as error:
            raise MachineError(
                f"[lock] {self.path}: {error.strerror}; name a store in a folder that can be "
                "written with --db"
            ) from error
        with file:
            has_reported = False
            while not _try_lock(file.fileno()):
                if not has_reported:
                    waiting()
                    has_reported = True
                sleep(SECONDS_BETWEEN_TRIES)
            yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
