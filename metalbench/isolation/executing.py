"""What runs in an executor's process. It imports next to nothing: it starts for every kernel."""

from __future__ import annotations

from metalbench import _core
from metalbench.isolation.confinement import confine


def work(channel: int, lifeline: int, parent: int, _: str) -> None:
    """Run kernels for the process `parent`, which asks over the descriptor `channel`."""
    confine(lifeline, parent)
    _core.execute(channel, _seal)


def _seal() -> None:
    """Called when all is loaded and before the first kernel runs: nothing is opened any more."""
