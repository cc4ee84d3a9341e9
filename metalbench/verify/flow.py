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
from metalbench.task.workload import Workload
from metalbench.verify.ahead import workloads_ahead
from metalbench.verify.examine import Examiner, Yardsticks
from metalbench.verify.faults import finding
from metalbench.verify.repeat import examine_repeatedly
from metalbench.verify.spikes import examine_spikes, with_spikes
from metalbench.verify.verdict import Finding, Report

SEEDS = 3
SPIKED = 2
TIME_LIMIT = 10.0

Progress = Callable[[str], None]


def quiet(_: str) -> None:
    """Nobody is told."""


def small_sizes(task: Task) -> list[str]:
    """The sizes of `task` that are cheap enough for checked builds."""
    return [name for name in task.sizes if name == "small" or name.startswith("odd")]


def all_sizes(task: Task, seed: int = 0, *, upto: str | None = None) -> list[str]:
    """The declared sizes of `task`, and one that is drawn at random by `seed`.

    Headlines of faster GPUs than the slowest are left out: they take minutes on a processor.
    With `upto` only small ones, and those that are no more work than that size: what a time at one
    size says nothing of need not hold it up.
    """
    if upto is None:
        left_out = {*task.gpu_headlines[1:]} - {task.headline}
        return [*(each for each in task.sizes if each not in left_out), drawn(task, seed)]
    small, most = small_sizes(task), task.work(upto)
    fitting = [
        name for name in task.sizes if name in small or all(map(operator.le, task.work(name), most))
    ]
    return [*fitting, drawn(task, seed, upto=upto)]


def seeds_for(task: Task, size: str, seed: int = 0, *, timed: bool = False) -> list[int]:
    """The seeds from `seed` on at which `size` is verified.

    Of small sizes, and of the one that is `timed`, they bring every variation; of that one there
    are two more than others have at least, for inputs with spikes.
    """
    count = _plain_seeds(task, size)
    if timed:
        count = max(count + SPIKED, task.turn)
    return list(range(seed, seed + count))


def _plain_seeds(task: Task, size: str) -> int:
    """At so many seeds inputs are as they are drawn."""
    return max(SEEDS, task.turn) if size in small_sizes(task) else SEEDS


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

    By default these are `all_sizes` with the headline, and of each `seeds_for` it, both from `seed`
    on. At the size `timed`, by default the headline if no sizes are given, later seeds' inputs have
    spikes, and MLX is not asked how far off it is. After a failure the other seeds of that size are
    skipped. `time_limit` is in seconds for one run of all dispatches. `yardsticks` are the
    reference's by size, where they are known; what is found is added. The first seed of each size
    is run again and again, unless `repeatedly` is false, for another seed has been. What the kernel
    does wrong is in the report; raises DeclarationError for an unknown size or element type,
    TaskError if the task's own code fails, MachineError if the machine does, and Disturbed if the
    system ended a run.
    """
    task.check_dtype(dtype_name)
    chosen = list(sizes if sizes is not None else all_sizes(task, seed))
    if sizes is None and seeds is None:
        timed = timed or task.headline_on(device)
        chosen = list(dict.fromkeys([*chosen, timed]))
    for size in chosen:
        task.values(size)
    try:
        compiled = compile_kernel(device, kernel, task, dtype_name=dtype_name, tunables=tunables)
    except MachineError:
        raise
    except MetalBenchError as error:
        return Report((finding(error),))
    return verify_compiled(
        compiled,
        chosen,
        seed=seed,
        seeds=seeds,
        time_limit=time_limit,
        progress=progress,
        yardsticks=yardsticks,
        repeatedly=repeatedly,
        timed=timed,
    )


def verify_compiled(
    compiled: Compiled,
    sizes: Sequence[str],
    *,
    seed: int = 0,
    seeds: Sequence[int] | None = None,
    time_limit: float = TIME_LIMIT,
    progress: Progress = quiet,
    yardsticks: dict[str, Yardsticks] | None = None,
    repeatedly: bool = True,
    timed: str | None = None,
) -> Report:
    """As `verify`, of what is compiled for a task and an element type already, at these sizes."""
    report = Report()
    known = {} if yardsticks is None else yardsticks
    task = compiled.task
    for size in sizes:
        several = seeds_for(task, size, seed, timed=size == timed) if seeds is None else seeds
        at = _Size(compiled, size, time_limit, progress, known.setdefault(size, Yardsticks()), seed)
        report += at.verified(several, repeatedly=repeatedly, timed=size == timed)
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

    def verified(self, seeds: Sequence[int], *, repeatedly: bool, timed: bool) -> Report:
        """Every seed, up to the first failure; the later ones with spikes where it is timed."""
        report = Report()
        bound: Bound | None = None
        compiled, plain = self.compiled, []

        def changed(work: Workload) -> Workload:
            if not (timed and self._is_late(work.seed)):
                return work
            spiked = with_spikes(work)
            if spiked is None:
                plain.append(f"seed {work.seed} at size {self.size} has inputs without spikes")
            return spiked or work

        kind = compiled.dtype.name
        works = workloads_ahead(compiled.task, self.size, seeds, dtype_name=kind, changed=changed)
        for seed, work in zip(seeds, works, strict=True):
            self.progress(f"{self.size}, seed {seed}")
            with _as_finding(self.size, seed) as found:
                bound = bound.load(work) if bound else compiled.bind(work)
                if timed and self._is_late(seed):
                    report += examine_spikes(self._examiner(bound))
                elif repeatedly and seed == seeds[0]:
                    report += examine_repeatedly(self._examiner(bound))
                else:
                    report += self._examiner(bound).examine()
            report += Report(tuple(found))
            if not report.passed:
                break
        return report + Report(skipped=tuple(plain))

    def _examiner(self, bound: Bound) -> Examiner:
        compiled = self.compiled
        return Examiner(bound, compiled.device, self.time_limit, self.yardsticks, compiled)

    def _is_late(self, seed: int) -> bool:
        """Whether it is behind those that the size has where it is not timed."""
        return seed >= self.seed + _plain_seeds(self.compiled.task, self.size)


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
