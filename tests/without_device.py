"""A worker whose device cannot be made ready, as on a GPU whose memory others have."""

from __future__ import annotations

from typing import NoReturn

from metalbench.errors import OutOfMemoryError
from metalbench.workers import worker


def work(channel: int, lifeline: int, parent: int, device: str) -> None:
    """Replace `worker.work`."""
    worker._open_device = fail
    worker.work(channel, lifeline, parent, device)


def fail(device: str) -> NoReturn:
    raise OutOfMemoryError(f"{device}: cannot make a context")
