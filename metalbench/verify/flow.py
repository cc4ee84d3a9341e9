"""Verification of a kernel at several sizes and seeds. A kernel that fails is a report."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from metalbench import _core
from metalbench.errors import (
    CompileError,
    DispatchError,
    Disturbed,
    MachineError,
    MetalBenchError,
    TaskError,
    Unsupported,
)
from metalbench.kernel import Kernel
from metalbench.kernel.prepare import Bound, Compiled, compile_kernel
from metalbench.task import Task
from metalbench.task.drawn_size import drawn
from metalbench.task.workload import workload
from metalbench.verify.ahead import workloads_ahead
from metalbench.verify.examine import Examiner, Yardsticks
from metalbench.verify.faults import finding
from metalbench.verify.repeat import examine_repeatedly
from metalbench.verify.verdict import Report

SEEDS = 3
TIME_LIMIT = 10.0
# Of a kernel that runs on its own device these say only what the simulation cannot do.
BEYOND_SIMULATION = (CompileError, DispatchError, Unsupported)

Progress = Callable[[str], None]


def _quiet(_: str) -> None:
    pass


def small_sizes(task: Task) -> list[str]:
    """The sizes of `task` that are cheap enough for checked builds."""
    return [name for name in task.sizes if name == "small" or name.startswith("odd")]


def all_sizes(task: Task, seed: int = 0, *, upto: str | None = None) -> list[str]:
    """The declared sizes of `task`, and one that is drawn at random by `seed`.

    With `upto` only small ones, and those that are no more work than that size: what a time at one
    size says nothing of need not hold it up.
    """
    if upto is None:
        return [*task.sizes, drawn(task, seed)]
    small, most = small_sizes(task), _work(task, upto)
    fitting = [
        name
        for name in task.sizes
        if name in small or all(map(operator.le, _work(task, name), most))
    ]
    return [*fitting, drawn(task, seed, upto=upto)]


def _work(task: Task, size: str) -> tuple[int, int]:
    return task.flops(size), task.bytes(size, task.dtypes[0])


def seeds_for(task: Task, size: str, seed: int = 0) -> list[int]:
    """The seeds from `seed` on at which `size` is verified: of small ones, every variation."""
    count = max(SEEDS, task.turn) if size in small_sizes(task) else SEEDS
    return list(range(seed, seed + count))


def verify(
    device: _core.Device,
    kernel: Kernel,
    task: Task,
    *,
    sizes: Sequence[str] | None = None,
    dtype_name: str = "float32",
    seed: int = 0,
    seeds: Sequence[int] | None = None,
    tunables: Mapping[str, int] | None = None,
    time_limit: float = TIME_LIMIT,
    progress: Progress = _quiet,
    yardsticks: dict[str, Yardsticks] | None = None,
    repeatedly: bool = True,
) -> Report:
    """Compare `kernel` with the oracle of `task` at `sizes` and `seeds`.

    By default these are `all_sizes` and, of each, `seeds_for` it, both from `seed` on. After a
    failure the other seeds of that size are skipped. `time_limit` is in seconds for one
    run of all dispatches. `yardsticks` are the reference's by size, where they are known;
    what is found is added. The first seed of each size is run again and again, unless `repeatedly`
    is false, for another seed has been. What the kernel does wrong is in the report; raises
    DeclarationError for an unknown size or element type, TaskError if the task's own code fails,
    MachineError if the machine does, and Disturbed if the system ended a run.
    """
    task.check_dtype(dtype_name)
    chosen = list(sizes if sizes is not None else all_sizes(task, seed))
    for size in chosen:
        task.values(size)
    try:
        compiled = compile_kernel(device, kernel, task, dtype_name=dtype_name, tunables=tunables)
    except MachineError:
        raise
    except MetalBenchError as error:
        return Report((finding(error),))
    report = Report()
    known = {} if yardsticks is None else yardsticks
    at = partial(
        _verify_size, compiled, time_limit=time_limit, progress=progress, repeatedly=repeatedly
    )
    for size in chosen:
        several = seeds_for(task, size, seed) if seeds is None else seeds
        own = known.setdefault(size, Yardsticks())
        report += at(size, several, yardsticks=own)
        if any(each.kind.ends_verification for each in report.findings):
            break
    return report


def _verify_size(
    compiled: Compiled,
    size: str,
    seeds: Sequence[int],
    *,
    time_limit: float,
    progress: Progress,
    yardsticks: Yardsticks,
    repeatedly: bool,
) -> Report:
    report = Report()
    bound: Bound | None = None
    works = workloads_ahead(compiled.task, size, seeds, dtype_name=compiled.dtype.name)
    for seed, work in zip(seeds, works, strict=True):
        progress(f"{size}, seed {seed}")
        try:
            bound = bound.load(work) if bound else compiled.bind(work)
            examiner = Examiner(bound, compiled.device, time_limit, yardsticks, compiled)
            again = repeatedly and seed == seeds[0]
            report += examine_repeatedly(examiner) if again else examiner.examine()
        except (TaskError, MachineError, Disturbed):
            raise
        except MetalBenchError as error:
            report += Report((finding(error, size, seed),))
        if not report.passed:
            break
    return report


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
    progress: Progress = _quiet,
) -> Report:
    """Run a checked build at `sizes` (default: small and odd): bounds, races, uninitialised reads.

    Stops at the first finding. A device that cannot check leaves it to the `cpu` device; what that
    cannot do with a kernel of another device is no finding, but told in the report's `skipped`. A
    kernel that does not end is one, for on a GPU it would stop the display.
    """
    try:
        compiled = compile_kernel(
            device, kernel, task, dtype_name=dtype_name, tunables=tunables, checked=True
        )
    except MachineError:
        raise
    except MetalBenchError as error:
        return _failed_check(device, error)
    for size in sizes if sizes is not None else small_sizes(task):
        progress(f"{size}, checked")
        try:
            bound = compiled.bind(workload(task, size, dtype_name=dtype_name, seed=seed))
            bound.mark_unwritten()
            Examiner(bound, compiled.device, time_limit).run()
        except MachineError:
            raise
        except MetalBenchError as error:
            return _failed_check(device, error, size, seed)
    return Report()


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
