"""How long an answer may take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from agent_steel.providers.api import Failed

Piece = TypeVar("Piece")


@dataclass(frozen=True)
class Limits:
    """`silence_s` between two bytes of a server, which may think before the first one.

    `answer_s` is for a whole answer. `clock` tells seconds.
    """

    silence_s: float = 300.0
    answer_s: float = 900.0
    clock: Callable[[], float] = time.monotonic

    def within(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Pass on what comes in time; raises Failed when the answer takes too long."""
        end = self.clock() + self.answer_s
        for each in pieces:
            yield each
            if self.clock() > end:
                raise Failed(
                    f"the answer was not whole after {self.answer_s:g} s; raise --answer-seconds",
                    passing=True,
                )
