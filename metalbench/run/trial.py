"""One kernel's way: compile, verify, measure, verify thoroughly. A failure is a result.

What is plainly wrong is found before it is measured; the longer checks come afterwards, so that the
clock starts soon. A measurement counts only if all of them pass.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from metalbench import verify
from metalbench.analysis import Analysis, Occupancy, analyse
from metalbench.errors import DeclarationError, MetalBenchError, of_the_machine
from metalbench.kernel import Kernel
from metalbench.kernel.fast_math import folded_tests
from metalbench.kernel.library import Entry
from metalbench.kernel.prepare import Compiled, check_written_for, compile_kernel
from metalbench.measure import Measurement, Plan
from metalbench.result import Case, Check, Failure, Result, Status
from metalbench.result.conditions import Facts, warnings
from metalbench.run.observed import check_of, device_facts, occupancy_of
from metalbench.run.stages import Observer, Stage
from metalbench.run.timed import Timed
from metalbench.task import Task
from metalbench.task.workload import workload
from metalbench.verify import Kind
from metalbench.verify.examine import Yardsticks

if TYPE_CHECKING:
    from metalbench._core import Device

SEEDS = 3
# Findings behind which there may be a race, or an access out of bounds.
EXPLICABLE = {
    *map(str, (Kind.WRONG_RESULT, Kind.NOT_WRITTEN, Kind.NONDETERMINISTIC)),
    *map(str, (Kind.GUARD_ZONE, Kind.FAULT)),
}


@dataclass(frozen=True)
class Trial:
    """A kernel to be tried: which, at what size (None: the task's headline), and how.

    `broken` is how it fails, if its file could not even be read.
    """

    entry: Entry
    kernel: Kernel
    dtype: str
    size: str | None = None
    seed: int = 0
    plan: Plan = field(default_factory=Plan)
    tunables: Mapping[str, int] = field(default_factory=dict)
    broken: Failure | None = None

    @classmethod
    def unreadable(cls, entry: Entry, error: MetalBenchError, **options: Any) -> Trial:
        """Make the trial of a kernel whose file is missing or wrong: it fails with `error`."""
        path = entry.kernel_paths[0] if entry.kernel_paths else Path(f"{entry.name}.metal")
        source = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        kernel = Kernel(entry.name, path, source, chip=None, description="", dispatches=())
        broken = Failure(Stage.COMPILE.value, type(error).__name__, str(error))
        return cls(entry, kernel, "float32", broken=broken, **options)

    def check(self) -> None:
        """Raise DeclarationError if what is asked for cannot be tried, whatever the kernel is.

        The task's file may be wrong, or it may lack the size or the element type.
        """
        task = self.entry.task
        task.check_size(self.size or task.headline)
        task.check_dtype(self.dtype)
        check_written_for(self.kernel, self.dtype)

    def compile(self, device: Device, *, checked: bool = False) -> Compiled:
        """Compile the kernel for `device`, or find it in the cache; raises as `compile_kernel`."""
        return compile_kernel(
            device,
            self.kernel,
            self.entry.task,
            dtype_name=self.dtype,
            tunables=self.tunables,
            checked=checked,
        )


class _Stopped(Exception):  # noqa: N818 - no error but a way out
    """The kernel has failed; the failures are noted."""


def attempt(
    device: Device, trial: Trial, observer: Observer, *, hush: Callable[[], None] | None = None
) -> Result:
    """Take one kernel through all stages but the recording.

    `hush` is called before measuring: it returns when nothing else keeps the machine busy. What the
    kernel, its task or its header does wrong is in the result. What comes out is KeyboardInterrupt,
    and that for which no kernel is to blame: MachineError, and of a size, an element type or a task
    file that are wrong DeclarationError.
    """
    if trial.broken is None:
        trial.check()
    return _Attempt(device, trial, observer, hush).run()


def precompile(device: Device, trial: Trial, *, checked: bool) -> None:
    """Compile into the cache what `attempt` will need; its errors are `attempt`'s to tell."""
    with contextlib.suppress(Exception):
        trial.compile(device, checked=checked)


class _Attempt:
    def __init__(
        self,
        device: Device,
        trial: Trial,
        observer: Observer,
        hush: Callable[[], None] | None,
    ) -> None:
        self._hush = hush
        self._device = device
        self._trial = trial
        self._observer = observer
        self._stage = Stage.COMPILE
        self._failures: list[Failure] = []
        self._checks: list[Check] = []
        self._notes: list[str] = []
        self._yardsticks: dict[str, Yardsticks] = {}
        self._wrong = False
        self._state: Facts | None = None
        self._occupancy: tuple[Occupancy, ...] = ()
        self._measurement: Measurement | None = None
        self._analysis: Analysis | None = None

    def run(self) -> Result:
        start = perf_counter()
        try:
            self._go()
        except _Stopped:
            pass
        except Exception as error:
            machine = of_the_machine(error)
            if machine is not None:
                raise machine from error
            # A task's own Python, too: its fault must not end the run.
            message = str(error) if isinstance(error, MetalBenchError) else _place(error)
            self._failures.append(Failure(self._stage.value, type(error).__name__, message))
        return self._result(perf_counter() - start)

    def _go(self) -> None:
        trial = self._trial
        self._enter(Stage.COMPILE)
        if trial.broken is not None:
            self._failures.append(trial.broken)
            raise _Stopped
        task = trial.entry.task
        size = trial.size or task.headline
        compiled = trial.compile(self._device)
        self._notes += folded_tests(compiled)
        first, after_timing, *others = range(trial.seed, trial.seed + SEEDS)
        self._enter(Stage.VERIFY)
        try:
            for each in dict.fromkeys((next(iter(task.sizes)), size)):
                self._verify(task, [each], [first])
        except _Stopped:
            self._explain(task)
            raise
        self._enter(Stage.MEASURE)
        timed = self._measure(compiled, task, size)
        self._enter(Stage.RECHECK)
        self._recheck(timed, task, size, after_timing)
        self._enter(Stage.CHECK)
        self._check(task)
        self._enter(Stage.VERIFY_ALL)
        self._verify(task, [size], others)
        every = verify.all_sizes(task, trial.seed, upto=size)
        rest = [name for name in every if name != size]
        self._verify(task, rest)

    def _enter(self, stage: Stage) -> None:
        self._stage = stage
        self._observer.stage_started(stage)

    def _verify(self, task: Task, sizes: Sequence[str], seeds: Sequence[int] | None = None) -> None:
        self._note(
            verify.verify(
                self._device,
                self._trial.kernel,
                task,
                sizes=sizes,
                dtype_name=self._trial.dtype,
                seed=self._trial.seed,
                seeds=seeds,
                tunables=self._trial.tunables,
                progress=self._observer.stage_detail,
                yardsticks=self._yardsticks,
            )
        )

    def _check(self, task: Task) -> None:
        self._note(
            verify.verify_checked(
                self._device,
                self._trial.kernel,
                task,
                dtype_name=self._trial.dtype,
                seed=self._trial.seed,
                tunables=self._trial.tunables,
                progress=self._observer.stage_detail,
            )
        )

    def _explain(self, task: Task) -> None:
        """Let a checked build say why results are wrong, where wrong results are all there is."""
        if {failure.kind for failure in self._failures} <= EXPLICABLE:
            self._enter(Stage.CHECK)
            self._check(task)

    def _note(self, report: verify.Report) -> None:
        """Keep a report's comparisons and findings; raises _Stopped if it has findings."""
        self._checks += [check_of(each) for each in report.comparisons]
        self._notes += report.skipped
        for finding in report.findings:
            failure = Failure(self._stage.value, str(finding.kind), finding.message)
            self._failures.append(failure)
        if not report.passed:
            self._wrong = any(finding.size for finding in report.findings)
            raise _Stopped

    def _measure(self, compiled: Compiled, task: Task, size: str) -> Timed:
        trial = self._trial
        if self._hush is not None:
            self._hush()
        work = workload(task, size, dtype_name=trial.dtype, seed=trial.seed)
        timed = Timed.prepare(compiled, work, trial.plan.mode)
        timed.yardsticks = self._yardsticks.setdefault(size, {})
        self._occupancy = occupancy_of(timed.bound, compiled, self._device)
        self._measurement = timed.measure(
            replace(trial.plan, seed=trial.seed), self._observer.stage_progress
        )
        self._state = self._device.state()
        self._notes += (*warnings(self._state), *self._measurement.doubts)
        done = task.flops(size), task.bytes(size, trial.dtype)
        self._analysis = analyse(self._measurement, *done, simulated=self._device.kind == "cpu")
        return timed

    def _recheck(self, timed: Timed, task: Task, size: str, seed: int) -> None:
        """Judge what the timing left behind, and what the same buffers hold of new inputs."""
        self._note(timed.left_behind())
        self._note(timed.run_on(workload(task, size, dtype_name=self._trial.dtype, seed=seed)))

    def _result(self, seconds: float) -> Result:
        status = Status.CORRECT
        if self._failures:
            status = Status.INCORRECT if self._wrong else Status.FAILED
        # A time of wrong results is no time.
        right = status is Status.CORRECT
        case = case_of(self._trial, task_of(self._trial))
        if right and self._measurement is not None:
            # Of its forms the one that the ratio is against.
            name = self._measurement.reference_name or case.reference
            case = replace(case, reference=name)
        return Result(
            case=case,
            device=device_facts(self._device),
            status=status,
            failures=tuple(self._failures),
            checks=tuple(self._checks),
            notes=tuple(self._notes),
            occupancy=self._occupancy,
            measurement=self._measurement if right else None,
            analysis=self._analysis if right else None,
            seconds=seconds,
            state=self._device.state() if self._state is None else self._state,
        )


def case_of(trial: Trial, task: Task | None) -> Case:
    """Say what `trial` is about; without its task, as far as the kernel tells."""
    kernel = trial.kernel
    size = trial.size or (task.headline if task else "")
    return Case(
        task=trial.entry.name,
        set=trial.entry.set,
        description=task.description if task else "",
        size=size,
        sizes=_extents(task, size) if task else {},
        dtype=trial.dtype,
        kernel=kernel.path.name,
        source=kernel.source,
        source_hash=kernel.hash,
        tunables={**{name: each[0] for name, each in kernel.tunables.items()}, **trial.tunables},
        reference=task.baseline if task else "",
    )


def task_of(trial: Trial) -> Task | None:
    """Load the task of `trial`; None if its file is wrong."""
    try:
        return trial.entry.task
    except MetalBenchError:
        return None


def _extents(task: Task, size: str) -> Mapping[str, int]:
    try:
        return task.extents(size)
    except DeclarationError:
        return {}


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error} (in {frame.name}, {Path(frame.filename).name}:{frame.lineno})"
