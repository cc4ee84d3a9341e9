"""GPU traces of kernels, for Xcode."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metalbench.errors import Unsupported
from metalbench.task.workload import workload

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.run.observed import Described
    from metalbench.run.trial import Trial

# Metal makes traces only in processes that start with this variable.
VARIABLE = "MTL_CAPTURE_ENABLED=1"


def check_captures(device: Described) -> None:
    """Raise Unsupported if `device` cannot make GPU traces in this process."""
    able = device.capabilities.get("gpu_trace")
    if able is None:
        raise Unsupported(
            f"capture: GPU traces are made by Metal, on a Mac; the {device.kind} device has none"
        )
    if not able:
        raise Unsupported(
            "capture: Metal makes GPU traces only in a process that is started with "
            f"{VARIABLE}; run `{VARIABLE} metalbench run ...`"
        )


def capture(device: Device, trial: Trial, path: Path) -> None:
    """Run one pass of the kernel and write a GPU trace of it to `path` (FILE.gputrace).

    Raises Unsupported, and the errors of compiling and running the kernel.
    """
    size = trial.size_on(device)
    work = workload(trial.entry.task, size, dtype_name=trial.dtype, seed=trial.seed)
    device.capture(trial.builds(device).plain.bind(work).dispatches, str(path))
