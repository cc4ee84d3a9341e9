"""Asking again: how often, and how long to wait before."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from agent_steel.models.providers.api import Failed


@dataclass(frozen=True)
class Retries:
    """Up to `most` further requests for one that failed in passing.

    The wait doubles from `first_s` up to `longest_s`, less up to a quarter by chance, so that those
    who were refused together do not come back together. What a server asks for counts instead, up
    to `patience_s`. `sleep` and `chance` (from 0 to 1) can be replaced.
    """

    most: int = 4
    first_s: float = 1.0
    longest_s: float = 60.0
    patience_s: float = 120.0
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def wait_s(self, failed: Failed, so_far: int) -> float | None:
        """Seconds to wait after `so_far` retries; None if there is to be no other try."""
        if not failed.passing or so_far >= self.most:
            return None
        if failed.retry_after_s is not None:
            return failed.retry_after_s if failed.retry_after_s <= self.patience_s else None
        wait: float = min(self.first_s * 2.0**so_far, self.longest_s)
        return wait * (1 - 0.25 * self.chance())
