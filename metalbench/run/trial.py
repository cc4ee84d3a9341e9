"""A trial: one kernel, in one element type, at one size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metalbench.errors import DeclarationError, MetalBenchError
from metalbench.kernel import Kernel
from metalbench.kernel.candidate_file import read_candidate
from metalbench.kernel.library import Entry
from metalbench.kernel.prepare import Builds, check_written_for
from metalbench.measure import Plan
from metalbench.result import Case, Failure
from metalbench.run.stages import Stage
from metalbench.task import Task

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.task.declaration import TimedDevice

# Values of --oracle: the sizes at which the oracle is the judge.
ALL, SMALL = "all", "small"
# A library in addition to MLX that a kernel may be timed against.
TORCH = "torch"


@dataclass(frozen=True)
class Trial:
    """A kernel to be verified and timed, with the settings of both.

    Attributes
    ----------
    entry, kernel, dtype
        The task in its library, the kernel, and the element type.
    size
        Size to time; None for the headline size of the device.
    seed
        First seed of the inputs, and seed of the sampling order.
    plan
        Limits of the measurement.
    tunables, tuning
        Values of tunables, and the search that found them, if any.
    broken
        The failure of a kernel whose file cannot be read.
    timed
        False to verify only.
    verified
        True if another machine has verified the kernel: time it, and skip the longer checks.
    oracle
        ALL, or SMALL if MLX judges a timed size that is not small.
    against
        TORCH to time PyTorch's form of the task too.
    unconfined
        Whether a Python candidate may run where the system cannot confine its process.
    """

    entry: Entry
    kernel: Kernel
    dtype: str
    size: str | None = None
    seed: int = 0
    plan: Plan = field(default_factory=Plan)
    tunables: Mapping[str, int] = field(default_factory=dict)
    tuning: str = ""
    broken: Failure | None = None
    timed: bool = True
    verified: bool = False
    oracle: str = ALL
    against: str = ""
    unconfined: bool = False

    @property
    def tuned(self) -> dict[str, int]:
        """A value for every tunable of the kernel. Raises as `Kernel.tuned`."""
        return self.kernel.tuned(self.tunables, dtype=self.dtype)

    @cached_property
    def task(self) -> Task:
        """The task with all forms of its reference.

        Raises TaskError for a wrong task, DeclarationError where PyTorch is missing.
        """
        if self.against != TORCH:
            return self.entry.task
        from metalbench.reference.on_torch import add_torch_form  # and with it MLX

        return add_torch_form(self.entry.task)

    @classmethod
    def unreadable(cls, entry: Entry, error: MetalBenchError, **options: Any) -> Trial:
        """Return the trial of a kernel whose file is missing or wrong. It fails with `error`."""
        path = entry.kernel_paths[0] if entry.kernel_paths else Path(f"{entry.name}.metal")
        try:
            source = read_candidate(path).decode("utf-8", "replace").replace("\0", "\ufffd")
        except DeclarationError:
            source = ""
        kernel = Kernel(entry.name, path, source, chip=None, description="", dispatches=())
        broken = Failure(Stage.COMPILE.value, type(error).__name__, str(error))
        return cls(entry, kernel, "float32", broken=broken, **options)

    def check(self) -> None:
        """Raise DeclarationError if the task is wrong or lacks the size or the element type."""
        task = self.entry.task
        if self.size is not None:
            task.check_size(self.size)
        task.check_dtype(self.dtype)
        check_written_for(self.kernel, self.dtype)

    def size_on(self, device: TimedDevice) -> str:
        """Return the size that is timed on `device`; raise TaskError for a wrong task."""
        return self.size or self.entry.task.headline_on(device)

    def builds(self, device: Device, task: Task | None = None) -> Builds:
        """Return the builds of the kernel for `device` and `task`, by default the trial's task.

        Raises CompileError if the kernel's headers are too many or too long.
        """
        _ = self.kernel.text
        return Builds(device, self.kernel, task or self.task, self.dtype, self.tunables)


def describe_case(trial: Trial, task: Task | None, device: TimedDevice) -> Case:
    """Describe `trial` on `device` for results; without its task, as far as is known."""
    kernel = trial.kernel
    size = trial.size or (task.headline_on(device) if task else "")
    return Case(
        task=trial.entry.name,
        set=trial.entry.set,
        description=task.description if task else "",
        size=size,
        sizes=_extents(task, size) if task else {},
        dtype=trial.dtype,
        kernel=kernel.path.name,
        source=kernel.stored_text,
        source_hash=kernel.hash,
        tunables={**kernel.tuned(dtype=trial.dtype), **trial.tunables},
        reference=task.baseline if task else "",
        tuning=trial.tuning,
    )


def find_task(trial: Trial) -> Task | None:
    """Return the task of `trial`; None if its file is wrong."""
    try:
        return trial.task
    except MetalBenchError:
        return None


def _extents(task: Task, size: str) -> Mapping[str, int]:
    try:
        return task.extents(size)
    except DeclarationError:
        return {}
