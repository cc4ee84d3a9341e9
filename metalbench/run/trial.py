"""A trial: one kernel, in one element type, at one size."""

from __future__ import annotations

import math
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from metalbench.errors import DeclarationError, MetalBenchError
from metalbench.kernel.header import Kernel
from metalbench.kernel.library import Entry
from metalbench.kernel.prepare import Builds, check_written_for
from metalbench.kernel.source_files import read_candidate
from metalbench.measure.analysis import Occupancy
from metalbench.measure.measurement import Plan
from metalbench.store.result import Case, Check, DeviceFacts, Failure, Result
from metalbench.task import Task

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.kernel.prepare import Bound, Compiled
    from metalbench.task.declaration import TimedDevice
    from metalbench.verify import Comparison


# The stages of a trial, and the interface of their observers.


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
    recheck
        Whether checked runs are repeated that the same code has passed before.
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
    recheck: bool = False

    @property
    def tuned(self) -> dict[str, int]:
        """A value for every tunable of the kernel. Raises as `Kernel.tuned`."""
        return self.kernel.resolve_tunables(self.tunables, dtype=self.dtype)

    @cached_property
    def task(self) -> Task:
        """The task with all forms of its reference.

        Raises TaskError for a wrong task, DeclarationError where PyTorch is missing.
        """
        if self.against != TORCH:
            return self.entry.task
        from metalbench.reference.torch_form import add_torch_form  # and with it MLX

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
        tunables={**kernel.resolve_tunables(dtype=trial.dtype), **trial.tunables},
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


# Convert objects of a run to those that results store.


class Described(Protocol):
    """The description of a device: an open one, or the facts of another machine's."""

    @property
    def kind(self) -> str:
        """`cpu`, `metal` or `cuda`."""

    @property
    def name(self) -> str:
        """The name by its vendor."""

    @property
    def chip(self) -> str | None:
        """The chip, such as `m4_max`; None if kernels have no variants for it."""

    @property
    def cores(self) -> int:
        """The number of cores."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """Further properties by name."""


def device_facts(device: Described) -> DeviceFacts:
    """Describe a device for results."""
    return DeviceFacts(device.kind, device.name, device.chip, device.cores, device.capabilities)


def reduce_comparison(comparison: Comparison) -> Check:
    """Return the part of a comparison that results store."""
    index = ", ".join(map(str, comparison.index))
    exact = not comparison.bound
    return Check(
        size=comparison.size,
        seed=comparison.seed,
        passed=comparison.passed,
        worst=None if exact or not math.isfinite(comparison.ratio) else comparison.ratio,
        where=f"{comparison.output}[{index}]",
        message=f"expected {comparison.expected:.9g}, got {comparison.got:.9g}",
    )


def list_occupancy(bound: Bound, compiled: Compiled, device: Device) -> tuple[Occupancy, ...]:
    """List the geometry of every dispatch against the limits of its pipeline."""
    return tuple(
        Occupancy(
            pipeline=each.function,
            threadgroups=_threadgroups(each.grid, each.threads, in_threads=each.in_threads),
            threads=each.threads,
            max_threads=compiled.pipelines[each.function].max_threads,
            threadgroup_bytes=compiled.pipelines[each.function].threadgroup_bytes
            + sum(each.threadgroup_bytes.values()),
            max_threadgroup_bytes=device.limits.max_threadgroup_bytes,
            simd_width=compiled.pipelines[each.function].simd_width,
        )
        for each in bound.geometry
    )


def locate_error(error: Exception) -> str:
    """Return the message of a foreign error, with the place where it was raised."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error} (in {frame.name}, {Path(frame.filename).name}:{frame.lineno})"


def _threadgroups(
    grid: tuple[int, int, int], threads: tuple[int, int, int], *, in_threads: bool
) -> tuple[int, int, int]:
    if not in_threads:
        return grid
    x, y, z = (-(-extent // group) for extent, group in zip(grid, threads, strict=True))
    return x, y, z
