"""How long an answer may take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from agent_steel.models.providers.api import Failed

Piece = TypeVar("Piece")
CONNECT_S = 10.0


@dataclass(frozen=True)
class Limits:
    """`silence_s` between two bytes of a server, which may think before the first one.

    `answer_s` is for a whole answer. `clock` tells seconds.
    """

    silence_s: float = 300.0
    answer_s: float = 900.0
    clock: Callable[[], float] = time.monotonic

    def timeout(self, library: Any) -> Any:
        """Return the timeout of the client `library`; connecting has a shorter one."""
        silence_s = min(self.silence_s, self.answer_s)
        return library.Timeout(silence_s, connect=min(silence_s, CONNECT_S))

    def within(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Pass on what comes in time; raises Failed when the answer takes too long."""
        end = self.clock() + self.answer_s
        for each in pieces:
            yield each
            if self.clock() > end:
                # Another would take as long, and cost as much.
                raise Failed(
                    f"the answer was not whole after {self.answer_s:g} s; raise --answer-seconds",
                    passing=False,
                )
