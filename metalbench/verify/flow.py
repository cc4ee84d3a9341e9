"""Verification of a kernel at several sizes and seeds. A kernel that fails is a report."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from metalbench import _core
from metalbench.errors import Disturbed, MachineError, MetalBenchError, TaskError
from metalbench.kernel import Kernel
from metalbench.kernel.prepare import Bound, Compiled, compile_kernel
from metalbench.task import Task
from metalbench.task.drawn_size import drawn
from metalbench.verify.ahead import workloads_ahead
from metalbench.verify.examine import Examiner, Yardsticks
from metalbench.verify.faults import finding
from metalbench.verify.repeat import examine_repeatedly
from metalbench.verify.spikes import examine_spikes
from metalbench.verify.verdict import Finding, Report

SEEDS = 3
TIME_LIMIT = 10.0

Progress = Callable[[str], None]


def quiet(_: str) -> None:
    """Nobody is told."""


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


def seeds_for(task: Task, size: str, seed: int = 0, *, timed: bool = False) -> list[int]:
    """The seeds from `seed` on at which `size` is verified.

    Of small sizes, and of the one that is `timed`, they bring every variation.
    """
    every = timed or size in small_sizes(task)
    return list(range(seed, seed + (max(SEEDS, task.turn) if every else SEEDS)))


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
    progress: Progress = quiet,
    yardsticks: dict[str, Yardsticks] | None = None,
    repeatedly: bool = True,
    timed: str | None = None,
) -> Report:
    """Compare `kernel` with the oracle of `task` at `sizes` and `seeds`.

    By default these are `all_sizes` and, of each, `seeds_for` it, both from `seed` on. At the size
    `timed`, by default the headline if no sizes are given, inputs with spikes follow. After a
    failure the other seeds of that size are skipped. `time_limit` is in seconds for one
    run of all dispatches. `yardsticks` are the reference's by size, where they are known;
    what is found is added; large sizes are judged without it from the fourth seed on. The first
    seed of each size is run again and again, unless `repeatedly` is false, for another seed has
    been. What the kernel does wrong is in the report; raises DeclarationError for an unknown size
    or element type, TaskError if the task's own code fails, MachineError if the machine does, and
    Disturbed if the system ended a run.
    """
    task.check_dtype(dtype_name)
    chosen = list(sizes if sizes is not None else all_sizes(task, seed))
    if sizes is None and seeds is None:
        timed = timed or task.headline_on(device.kind)
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
    for size in chosen:
        several = seeds_for(task, size, seed, timed=size == timed) if seeds is None else seeds
        at = _Size(
            compiled, size, time_limit, progress, known.setdefault(size, Yardsticks()), seed
        )
        report += at.verified(several, repeatedly=repeatedly, spiked=size == timed)
        if any(each.kind.ends_verification for each in report.findings):
            break
    return report


@dataclass(frozen=True)
class _Size:
    """A compiled kernel at one size; `seed` is the first that the run has for it."""

    compiled: Compiled
    size: str
    time_limit: float
    progress: Progress
    yardsticks: Yardsticks
    seed: int

    def verified(self, seeds: Sequence[int], *, repeatedly: bool, spiked: bool) -> Report:
        """Every seed, up to the first failure; then, if asked for, inputs with spikes."""
        report = Report()
        bound: Bound | None = None
        compiled = self.compiled
        works = workloads_ahead(compiled.task, self.size, seeds, dtype_name=compiled.dtype.name)
        for seed, work in zip(seeds, works, strict=True):
            self.progress(f"{self.size}, seed {seed}")
            with _as_finding(self.size, seed) as found:
                bound = bound.load(work) if bound else compiled.bind(work)
                examiner = self._examiner(bound, generous=self._asks_no_reference(seed))
                again = repeatedly and seed == seeds[0]
                report += examine_repeatedly(examiner) if again else examiner.examine()
            report += Report(tuple(found))
            if not report.passed:
                return report
        if spiked and bound is not None:
            self.progress(f"{self.size}, spikes")
            with _as_finding(self.size, self.seed) as found:
                report += examine_spikes(self._examiner(bound, generous=True), self.seed)
            report += Report(tuple(found))
        return report

    def _examiner(self, bound: Bound, *, generous: bool) -> Examiner:
        return Examiner(
            bound, self.compiled.device, self.time_limit, self.yardsticks, self.compiled, generous
        )

    def _asks_no_reference(self, seed: int) -> bool:
        """Of a large size MLX takes longer than all else; its first three variations will do."""
        return seed >= self.seed + SEEDS and self.size not in small_sizes(self.compiled.task)


@contextmanager
def _as_finding(size: str, seed: int) -> Iterator[list[Finding]]:
    """A list that gets the finding of an error that the kernel has caused."""
    found: list[Finding] = []
    try:
        yield found
    except (TaskError, MachineError, Disturbed):
        raise
    except MetalBenchError as error:
        found.append(finding(error, size, seed))
