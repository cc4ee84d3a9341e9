"""Runs of a checked build: bounds, races, and memory that is read before anything is written.

Small sizes are checked in every run. What is timed is so much slower to check that it is done once
for each source, and remembered beside what was compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metalbench import _core
from metalbench.errors import (
    CompileError,
    DispatchError,
    MachineError,
    MetalBenchError,
    TimeLimitExceeded,
    Unsupported,
)
from metalbench.kernel import Kernel
from metalbench.kernel.prepare import Compiled, compile_kernel
from metalbench.msl.building import cache
from metalbench.msl.building.toolchain import find_toolchain
from metalbench.task import Task
from metalbench.task.workload import workload
from metalbench.verify.examine import Examiner
from metalbench.verify.faults import finding
from metalbench.verify.flow import TIME_LIMIT, Progress, quiet, small_sizes
from metalbench.verify.verdict import Report

# Of a kernel that runs on its own device these say only what the simulation cannot do.
BEYOND_SIMULATION = (CompileError, DispatchError, Unsupported)
# Of the size that is timed, and of one that is drawn anew in every run. What is not done by then is
# not checked there, and told.
SECONDS, SECONDS_DRAWN = 10.0, 3.0
# What a checked run knows of memory takes so many times as much, and may take no more than this.
KNOWN_OF_A_BYTE = 8
MOST_BYTES = 2 << 30


def verify_checked(
    device: _core.Device,
    kernel: Kernel,
    task: Task,
    *,
    sizes: Sequence[str] | None = None,
    dtype_name: str = "float32",
    seed: int = 0,
    tunables: Mapping[str, int] | None = None,
    time_limit: float = 6 * TIME_LIMIT,
    progress: Progress = quiet,
) -> Report:
    """Run a checked build at `sizes` (default: small and odd): bounds, races, uninitialised reads.

    Stops at the first finding. A device that cannot check leaves it to the `cpu` device; what that
    cannot do with a kernel of another device is no finding, but told in the report's `skipped`. A
    kernel that does not end is one, for on a GPU it would stop the display.
    """
    built = _built(device, kernel, task, dtype_name, tunables)
    if isinstance(built, Report):
        return built
    for size in sizes if sizes is not None else small_sizes(task):
        progress(f"{size}, checked")
        try:
            _run(built, size, seed, time_limit)
        except MachineError:
            raise
        except MetalBenchError as error:
            return _failed_check(device, error, size, seed)
    return Report()


def verify_checked_as_timed(
    device: _core.Device,
    kernel: Kernel,
    task: Task,
    *,
    size: str,
    drawn: str | None = None,
    dtype_name: str = "float32",
    seed: int = 0,
    tunables: Mapping[str, int] | None = None,
    seconds: float = SECONDS,
    progress: Progress = quiet,
) -> Report:
    """Run a checked build at the `size` that is timed, once for each source, and at one `drawn`.

    Small sizes are left out. After `seconds` (fewer of the drawn size) some threadgroups, from
    everywhere, have been checked; the report's `skipped` says so. That `size` was right is
    remembered in the cache.
    """
    built = _built(device, kernel, task, dtype_name, tunables)
    if isinstance(built, Report):
        return built
    known = _Known(built, size)
    notes = [known.note()]
    for each, limit in ((size, seconds), (drawn, min(seconds, SECONDS_DRAWN))):
        if each is None or each in small_sizes(task) or (each == size and notes[0] is not None):
            continue
        progress(f"{each}, checked")
        try:
            notes.append(_sampled(built, each, seed, limit))
        except MachineError:
            raise
        except MetalBenchError as error:
            return _failed_check(device, error, each, seed)
        if each == size:
            known.keep(notes[-1] or "")
    return Report(skipped=tuple(note for note in notes if note))


def _built(
    device: _core.Device,
    kernel: Kernel,
    task: Task,
    dtype_name: str,
    tunables: Mapping[str, int] | None,
) -> Compiled | Report:
    try:
        return compile_kernel(
            device, kernel, task, dtype_name=dtype_name, tunables=tunables, checked=True
        )
    except MachineError:
        raise
    except MetalBenchError as error:
        return _failed_check(device, error)


def _run(built: Compiled, size: str, seed: int, time_limit: float) -> None:
    bound = built.bind(workload(built.task, size, dtype_name=built.dtype.name, seed=seed))
    bound.mark_unwritten()
    Examiner(bound, built.device, time_limit).run()


def _sampled(built: Compiled, size: str, seed: int, seconds: float) -> str:
    """Check for so long at most; what is to be said of it, empty if that was enough."""
    needed = KNOWN_OF_A_BYTE * built.task.bytes(size, built.dtype.name)
    if needed > MOST_BYTES:
        return (
            f"bounds and races at size {size} were not checked: what there is to know of its "
            f"memory takes more than {MOST_BYTES >> 30} GiB"
        )
    try:
        _run(built, size, seed, seconds)
    except TimeLimitExceeded:
        return (
            f"bounds and races at size {size} were checked in a part of the threadgroups, as many "
            f"as {seconds:g} s sufficed for"
        )
    return ""


@dataclass(frozen=True)
class _Known:
    """What is remembered of one build at one size."""

    built: Compiled
    size: str

    @property
    def _key(self) -> str:
        built, task = self.built, self.built.task
        return cache.digest(
            "checked",
            find_toolchain().key,
            built.kernel.text,
            task.name,
            repr([(name, each.distribution) for name, each in task.inputs.items()]),
            repr(sorted(task.constants.items())),
            repr(task.extents(self.size)),
            built.dtype.name,
            repr(sorted(built.tunables.items())),
        )

    def note(self) -> str | None:
        """What was to be said; None if that size has not been checked."""
        record = cache.load(self._key)
        return None if record is None else str(record["note"])

    def keep(self, note: str) -> None:
        cache.store(self._key, {"note": note})


def _failed_check(
    device: _core.Device, error: MetalBenchError, size: str = "", seed: int | None = None
) -> Report:
    if device.checked_builds:
        if not isinstance(error, Unsupported):
            return Report((finding(error, size, seed),))
        return Report(skipped=(f"bounds and races were not checked: {error}",))
    if not isinstance(error, BEYOND_SIMULATION):
        return Report((finding(error, size, seed),))
    where = f"the cpu device checks them for {device.kind}, and could not"
    return Report(skipped=(f"bounds and races were not checked: {where}: {error}",))
