"""What is to be tried: one kernel, in one element type, at one size; and what that is about."""

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
from metalbench.kernel.prepare import Compiled, check_written_for, compile_kernel
from metalbench.measure import Plan
from metalbench.result import Case, Failure
from metalbench.run.stages import Stage
from metalbench.task import Task

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.task.declaration import TimedDevice

# Sizes at which the oracle is asked.
ALL, SMALL = "all", "small"
# What besides MLX a kernel may be timed against.
TORCH = "torch"


@dataclass(frozen=True)
class Trial:
    """A kernel to be tried: which, at what size (None: the device's headline), and how.

    `tuning` says where `tunables` come from, if a search found them; `broken` is how it fails, if
    its file could not even be read. One that is not `timed` is verified only; one that was
    `verified` on another machine is timed, with what belongs to that, and not looked at further.
    `oracle` says at which sizes that is asked, ALL or SMALL: else the reference judges what is
    timed. `against` is TORCH where PyTorch's form is one more to be timed against. A Python
    candidate may be `unconfined` where the system cannot confine its process; else it does not
    run there.
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
        """A value for every tunable of the kernel; raises as `Kernel.tuned`."""
        return self.kernel.tuned(self.tunables, dtype=self.dtype)

    @cached_property
    def task(self) -> Task:
        """What is to be solved, with all forms that it is timed against.

        Raises TaskError for a wrong task, DeclarationError where PyTorch is missing.
        """
        if self.against != TORCH:
            return self.entry.task
        from metalbench.reference.on_torch import with_torch  # and with it MLX

        return with_torch(self.entry.task)

    @classmethod
    def unreadable(cls, entry: Entry, error: MetalBenchError, **options: Any) -> Trial:
        """Make the trial of a kernel whose file is missing or wrong: it fails with `error`."""
        path = entry.kernel_paths[0] if entry.kernel_paths else Path(f"{entry.name}.metal")
        try:
            source = read_candidate(path).decode("utf-8", "replace").replace("\0", "\ufffd")
        except DeclarationError:
            source = ""
        kernel = Kernel(entry.name, path, source, chip=None, description="", dispatches=())
        broken = Failure(Stage.COMPILE.value, type(error).__name__, str(error))
        return cls(entry, kernel, "float32", broken=broken, **options)

    def check(self) -> None:
        """Raise DeclarationError if what is asked for cannot be tried, whatever the kernel is.

        The task's file may be wrong, or it may lack the size or the element type.
        """
        task = self.entry.task
        if self.size is not None:
            task.check_size(self.size)
        task.check_dtype(self.dtype)
        check_written_for(self.kernel, self.dtype)

    def size_on(self, device: TimedDevice) -> str:
        """Return the size that is timed on `device`; raise TaskError for a wrong task."""
        return self.size or self.entry.task.headline_on(device)

    def compile(self, device: Device, *, checked: bool = False) -> Compiled:
        """Compile the kernel for `device`, or find it in the cache; raises as `compile_kernel`.

        Raises CompileError as well if the kernel's text cannot be stored.
        """
        _ = self.kernel.text
        return compile_kernel(
            device,
            self.kernel,
            self.task,
            dtype_name=self.dtype,
            tunables=self.tunables,
            checked=checked,
        )


def case_of(trial: Trial, task: Task | None, device: TimedDevice) -> Case:
    """Say what `trial` is about on `device`; without its task, as far as is known."""
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


def task_of(trial: Trial) -> Task | None:
    """Load the task of `trial`; None if its file is wrong."""
    try:
        return trial.task
    except MetalBenchError:
        return None


def _extents(task: Task, size: str) -> Mapping[str, int]:
    try:
        return task.extents(size)
    except DeclarationError:
        return {}
