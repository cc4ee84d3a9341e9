"""Where samples are evaluated: seats on machines, each for one sample at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from metalbench.errors import MachineError
from metalbench.generations.gate import TimingScheduler
from metalbench.run.runner import Attempts


class WorkerLostError(MachineError):
    """What ran in a seat is gone, with its process or its machine; no sample is to blame."""


@dataclass(frozen=True)
class WorkerSpec:
    """A seat of the machine `machine`, all of whose seats share a `scheduler`.

    `open` makes it ready; one that does not own the device verifies only: `can_time` is False.
    """

    open: Callable[[], AbstractContextManager[Attempts]]
    scheduler: TimingScheduler
    can_time: bool = True
    machine: str = ""


class WorkerProvider(Protocol):
    """All seats; `local_scheduler` is the gate of the machine on which results are kept."""

    local_scheduler: TimingScheduler

    def list_new_workers(self) -> Sequence[WorkerSpec]:
        """Those that were not told before."""

    def close(self) -> None:
        """End whatever runs in them."""


class LocalWorkerProvider:
    """So many seats on this machine."""

    def __init__(self, place: Callable[[], AbstractContextManager[Attempts]], count: int) -> None:
        self.local_scheduler = TimingScheduler()
        self._specs = [WorkerSpec(place, self.local_scheduler) for _ in range(count)]

    def list_new_workers(self) -> Sequence[WorkerSpec]:
        """All of them, once."""
        seats, self._specs = self._specs, []
        return seats

    def close(self) -> None:
        """Nothing: who works in a seat here ends with it."""


@contextmanager
def hold_work_slot(scheduler: TimingScheduler) -> Iterator[None]:
    """Keep all others of this machine from being timed; raises Stopped."""
    scheduler.begin_work()
    try:
        yield
    finally:
        scheduler.end_work()
