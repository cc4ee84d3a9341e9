"""Compare results with earlier results."""

from __future__ import annotations

from metalbench.compare.leaderboard import Decision, Ruling, enter, submit

__all__ = ["Decision", "Ruling", "enter", "submit"]
