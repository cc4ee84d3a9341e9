"""Build kernels and MLX's compiled forms before their turn."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from metalbench.run.trial import Trial

if TYPE_CHECKING:
    from metalbench._core import Device


def precompile(device: Device, trial: Trial, *, checked: bool) -> None:
    """Compile a kernel into the build cache. `attempt` compiles again and reports errors."""
    if not trial.kernel.is_python:
        with contextlib.suppress(Exception):
            builds = trial.builds(device)
            _ = builds.checked if checked else builds.plain


def prepare_reference(device: Device, trial: Trial) -> None:
    """Let MLX compile the reference of a trial. `attempt` reports errors."""
    from metalbench.reference.ahead import build_forms  # imports MLX

    if trial.timed and trial.broken is None:
        with contextlib.suppress(Exception):
            build_forms(trial.task, trial.dtype, kind=device.kind)
