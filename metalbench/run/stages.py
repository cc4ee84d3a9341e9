"""The stages that a kernel goes through, and who is told of them."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from metalbench.result import Result


class Stage(str, Enum):
    """In this order, but on a GPU CHECK follows COMPILE; a kernel that fails skips to RECORD."""

    COMPILE = "compile"
    VERIFY = "verify"
    MEASURE = "measure"
    RECHECK = "verify after timing"
    CHECK = "check bounds and races"
    VERIFY_ALL = "verify all sizes"
    RECORD = "record"


class Observer(Protocol):
    """Is told how a run proceeds."""

    def kernel_started(self, index: int, total: int, task: str, dtype: str) -> None:
        """Kernel `index` (from 0) of `total` begins."""

    def stage_started(self, stage: Stage) -> None:
        """The current kernel enters a stage."""

    def stage_detail(self, detail: str) -> None:
        """Say what the stage is at: a size and seed."""

    def stage_progress(self, fraction: float) -> None:
        """Say how much of the stage is done, 0..1, where that is known."""

    def kernel_finished(self, result: Result) -> None:
        """The current kernel is done; its result is in the store unless that has failed."""


class Silent:
    """An observer that does nothing."""

    def kernel_started(self, index: int, total: int, task: str, dtype: str) -> None:
        """Not told."""

    def stage_started(self, stage: Stage) -> None:
        """Not told."""

    def stage_detail(self, detail: str) -> None:
        """Not told."""

    def stage_progress(self, fraction: float) -> None:
        """Not told."""

    def kernel_finished(self, result: Result) -> None:
        """Not told."""
