"""The record of every task on every device, and how a result becomes the record."""

from metalbench.leaderboard.rule import Decision, Ruling, enter, submit

__all__ = ["Decision", "Ruling", "enter", "submit"]
