"""What every worker imports, and whether a process that has imported it may be forked."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from metalbench.devices import find_kind
from metalbench.sandbox.fork_server import Preload

# Modules that every kernel needs. Their import is slow.
NEEDED = ("mlx.core", "metalbench.reference", "metalbench.run.attempt")
# Statistics need this module after the first windows, and some tasks do. A worker that is prepared
# in advance imports it early. Else it is imported on first use, so that it does not delay a trial.
NEEDED_LATER = "scipy.special"
# What a fork server has imported before the second worker: what compiling, messages and the choice
# of a reference need, too.
PRELOAD = Preload(
    (*NEEDED, "metalbench.workers.worker"),
    (
        NEEDED_LATER,
        "ml_dtypes",
        "metalbench.compare.head_to_head",
        "metalbench.msl.engine",
        "metalbench.msl.toolchain.compile_kernel",
        "metalbench.reference.stored_forms",
        "metalbench.run.reference_forms",
        "metalbench.run.runner",
        "metalbench.sandbox.encoding",
        "metalbench.task.oracles",
    ),
)


def resolve_kind(device: str) -> str:
    """Return the kind of a device, which may be the first one of this machine."""
    from metalbench import _core

    return _core.devices()[0] if device == "auto" else device


def find_preload(kind: str) -> Preload | None:
    """Return what a fork server imports for workers of a device; None if it cannot fork them.

    Metal does not survive a fork, and neither does CUDA. MLX does on Linux, as long as it has
    computed nothing.
    """
    forks = sys.platform == "linux" and find_kind(kind).is_simulated
    return PRELOAD if forks and not needs_gpu_for_mlx(sys.path) else None


def needs_gpu_for_mlx(folders: Sequence[str]) -> bool:
    """Return whether the installed MLX is the CUDA build: its import opens a GPU on any device.

    Only names of folders are read, because nothing has been imported yet.
    """
    for folder in folders:
        with suppress(OSError):
            if any(name.startswith("mlx_cuda") for name in os.listdir(folder)):
                return True
    return False
