"""The stages of a trial, and the interface of their observers."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from metalbench.result import Result


class Stage(str, Enum):
    """The stages in order. On a GPU, CHECK follows COMPILE. A failure skips to RECORD."""

    COMPILE = "compile"
    VERIFY = "verify"
    MEASURE = "measure"
    RECHECK = "verify after timing"
    CHECK = "check bounds and races"
    VERIFY_ALL = "verify all sizes"
    RECORD = "record"


class Observer(Protocol):
    """Receives the progress of a run."""

    def kernel_started(self, index: int, total: int, task: str, dtype: str) -> None:
        """Kernel `index` (from 0) of `total` begins."""

    def stage_started(self, stage: Stage) -> None:
        """The current kernel enters a stage."""

    def stage_detail(self, detail: str) -> None:
        """The stage proceeds to `detail`: a size and seed."""

    def stage_progress(self, fraction: float) -> None:
        """The fraction of the stage that is done, 0..1, is known."""

    def kernel_finished(self, result: Result) -> None:
        """The current kernel is done, and its result is in the store unless storing has failed."""


class Silent:
    """An observer that does nothing."""

    def kernel_started(self, index: int, total: int, task: str, dtype: str) -> None:
        """Ignore it."""

    def stage_started(self, stage: Stage) -> None:
        """Ignore it."""

    def stage_detail(self, detail: str) -> None:
        """Ignore it."""

    def stage_progress(self, fraction: float) -> None:
        """Ignore it."""

    def kernel_finished(self, result: Result) -> None:
        """Ignore it."""
