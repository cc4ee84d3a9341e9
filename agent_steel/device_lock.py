"""One measurement at a time on a device, whoever asks for it."""

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
    from metalbench.result import DeviceFacts

# Whoever waits for another process's measurement looks so often whether it is over.
SECONDS_BETWEEN_TRIES = 0.05


class DeviceLock:
    """A file beside the store that one process at a time holds while a device is its own.

    The system lets go of it when its holder ends, however that happens.
    """

    def __init__(self, folder: Path, device: str) -> None:
        name = re.sub(r"\W+", "-", device).strip("-")
        self.path = folder / f"device-{name}.lock"

    @classmethod
    def of(cls, device: DeviceFacts, folder: Path) -> DeviceLock:
        """Return the lock of a device, beside the store in `folder`."""
        return cls(folder, f"{device.kind}-{device.name}")

    @contextmanager
    def held(self, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
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
            told = False
            while not _taken(file.fileno()):
                if not told:
                    waiting()
                    told = True
                sleep(SECONDS_BETWEEN_TRIES)
            yield


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
