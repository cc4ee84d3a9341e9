"""Where samples are evaluated: seats on machines, each for one sample at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from metalbench.errors import MachineError
from metalbench.generations.gate import Gate
from metalbench.run.runner import Attempts


class SeatLostError(MachineError):
    """What ran in a seat is gone, with its process or its machine; no sample is to blame."""


@dataclass(frozen=True)
class Seat:
    """A seat of the machine `where`, all of whose seats share a `gate`.

    `open` makes it ready; one that does not own the device verifies only: `times` is False.
    """

    open: Callable[[], AbstractContextManager[Attempts]]
    gate: Gate
    times: bool = True
    where: str = ""


class Seats(Protocol):
    """All seats; `home` is the gate of the machine on which results are kept."""

    home: Gate

    def further(self) -> Sequence[Seat]:
        """Those that were not told before."""

    def close(self) -> None:
        """End whatever runs in them."""


class Here:
    """So many seats on this machine."""

    def __init__(self, place: Callable[[], AbstractContextManager[Attempts]], count: int) -> None:
        self.home = Gate()
        self._seats = [Seat(place, self.home) for _ in range(count)]

    def further(self) -> Sequence[Seat]:
        """All of them, once."""
        seats, self._seats = self._seats, []
        return seats

    def close(self) -> None:
        """Nothing: who works in a seat here ends with it."""


@contextmanager
def at_work(gate: Gate) -> Iterator[None]:
    """Keep all others of this machine from being timed; raises Stopped."""
    gate.enter()
    try:
        yield
    finally:
        gate.leave()
