"""What can be made ready before a kernel's turn: builds, its own and those of MLX."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from metalbench.run.trial import Trial

if TYPE_CHECKING:
    from metalbench._core import Device


def precompile(device: Device, trial: Trial, *, checked: bool) -> None:
    """Compile into the cache what `attempt` will need; its errors are `attempt`'s to tell."""
    if not trial.kernel.is_python:
        with contextlib.suppress(Exception):
            builds = trial.builds(device)
            _ = builds.checked if checked else builds.plain


def prepare_reference(device: Device, trial: Trial) -> None:
    """Let MLX build what timing will need of its own; its errors are `attempt`'s to tell."""
    from metalbench.reference.ahead import build_forms  # and with it MLX

    if trial.timed and trial.broken is None:
        with contextlib.suppress(Exception):
            build_forms(trial.task, trial.dtype, kind=device.kind)
