"""One kernel's way: compile, verify, measure, verify thoroughly. A failure is a result.

What is plainly wrong is found before it is measured; the longer checks come afterwards, so that the
clock starts soon. A measurement counts only if all of them pass. A kernel that hangs on a GPU stops
the display with it: there the checked run, which is the cpu device's, comes before all else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from metalbench import verify
from metalbench.analysis import Analysis, Occupancy, Throughput, analyse, implausible
from metalbench.errors import (
    Disturbed,
    of_the_machine,
)
from metalbench.kernel.fast_math import folded_tests
from metalbench.kernel.prepare import Compiled
from metalbench.measure import Measurement
from metalbench.measure.ceiling import ceiling_of
from metalbench.result import Check, Failure, Result, Status
from metalbench.result.conditions import Facts, warnings
from metalbench.run import sizes
from metalbench.run.failing import EXPLICABLE, failure_of
from metalbench.run.observed import check_of, device_facts, occupancy_of
from metalbench.run.peaks import peaks_of
from metalbench.run.stages import Observer, Stage
from metalbench.run.timed import Timed
from metalbench.run.trial import Trial, case_of, task_of
from metalbench.task import Task
from metalbench.task.workload import workload
from metalbench.verify import Kind
from metalbench.verify.ahead import inputs_ahead
from metalbench.verify.examine import Yardsticks

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.kernel import Kernel
    from metalbench.stats import Interval


class Stopped(Exception):  # noqa: N818 - no error but a way out
    """The kernel has failed; the failures are noted."""


def attempt(
    device: Device, trial: Trial, observer: Observer, *, hush: Callable[[], None] | None = None
) -> Result:
    """Take one kernel through all stages but the recording.

    `hush` is called before measuring: it returns when nothing else keeps the machine busy. What the
    kernel, its task or its header does wrong is in the result. What comes out is KeyboardInterrupt,
    and that for which no kernel is to blame: MachineError, Disturbed, and of a size, an element
    type or a task file that are wrong DeclarationError.
    """
    if trial.broken is None:
        trial.check()
    return Attempt(device, trial, observer, hush).run()


class Attempt:
    """One kernel on its way; `run` takes it to the end."""

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
        self._unconfined = ""
        self._state: Facts | None = None
        self._occupancy: tuple[Occupancy, ...] = ()
        self._measurement: Measurement | None = None
        self._analysis: Analysis | None = None

    def run(self) -> Result:
        """Go all the way."""
        start = perf_counter()
        try:
            self._go()
        except Stopped:
            pass
        except Disturbed:
            raise
        except Exception as error:
            machine = of_the_machine(error)
            if machine is not None:
                raise machine from error
            # A task's own Python, too: its fault must not end the run.
            self._failures.append(failure_of(error, self._stage.value))
        return self._result(perf_counter() - start)

    def _go(self) -> None:
        trial = self._trial
        self._enter(Stage.COMPILE)
        if trial.broken is not None:
            self._failures.append(trial.broken)
            raise Stopped
        task = sizes.task_judged(trial, self._device)
        size = trial.size_on(self._device)
        self._notes += sizes.remarks(task)
        compiled = trial.compile(self._device)
        self._notes += folded_tests(compiled)
        first, *others = verify.seeds_for(task, size, trial.seed, timed=True)
        checked_first = not self._device.checked_builds
        self._look(task, size, first, checked_first=checked_first)
        if trial.timed:
            timed = self._prepared(compiled, task, size)
            self._enter(Stage.MEASURE)
            self._measure(timed, task, size)
            self._enter(Stage.RECHECK)
            self._recheck(timed, task, size, others.pop(0))
        if trial.verified:
            return
        declared, drawn = sizes.further_sizes(task, trial, size)
        if not checked_first:
            self._check(task)
        self._check_as_timed(task, size, drawn)
        self._enter(Stage.VERIFY_ALL)
        if size not in task.judges:
            # At the first seed it has been run repeatedly.
            self._verify(task, [size], others, repeatedly=False, timed=size)
        self._verify(task, [*declared, drawn])

    def _look(self, task: Task, size: str, seed: int, *, checked_first: bool) -> None:
        """Find what is plainly wrong: at the smallest size, and at the one that is timed."""
        # Where runs are repeated one of them has other inputs.
        ahead = [seed] if size in task.judges else [seed, seed + task.turn]
        with inputs_ahead(task, size, ahead, dtype_name=self._trial.dtype):
            if checked_first:
                self._check(task)
            self._enter(Stage.VERIFY)
            try:
                for each in dict.fromkeys((next(iter(task.sizes)), size)):
                    self._verify(task, [each], [seed], repeatedly=each not in task.judges)
            except Stopped:
                if not checked_first:
                    self._explain(task)
                raise

    def _enter(self, stage: Stage) -> None:
        self._stage = stage
        self._observer.stage_started(stage)

    def _verify(
        self,
        task: Task,
        sizes: Sequence[str],
        seeds: Sequence[int] | None = None,
        *,
        repeatedly: bool = True,
        timed: str | None = None,
    ) -> None:
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
                repeatedly=repeatedly,
                timed=timed,
            )
        )

    def _check(self, task: Task) -> None:
        self._enter(Stage.CHECK)
        self._note(verify.verify_checked(*self._whose(task), **self._how()))

    def _check_as_timed(self, task: Task, size: str, drawn: str) -> None:
        """Check what is timed, and what nobody knew before, unless that has been done before."""
        if self._stage is not Stage.CHECK:
            self._enter(Stage.CHECK)
        whose, how = self._whose(task), self._how()
        timed = drawn if size in task.judges else size
        self._note(verify.verify_checked_as_timed(*whose, size=timed, drawn=drawn, **how))
        self._note(verify.verify_same_work(*whose, timed=size, **how))

    def _whose(self, task: Task) -> tuple[Device, Kernel, Task]:
        return self._device, self._trial.kernel, task

    def _how(self) -> dict[str, Any]:
        """What all checks are told."""
        return {
            "dtype_name": self._trial.dtype,
            "seed": self._trial.seed,
            "tunables": self._trial.tunables,
            "progress": self._observer.stage_detail,
        }

    def _explain(self, task: Task) -> None:
        """Let a checked build say why results are wrong, where wrong results are all there is."""
        if {failure.kind for failure in self._failures} <= EXPLICABLE:
            self._check(task)

    def _note(self, report: verify.Report) -> None:
        """Keep a report's comparisons and findings; raises Stopped if it has findings."""
        self._checks += [check_of(each) for each in report.comparisons]
        self._notes += report.skipped
        for finding in report.findings:
            failure = Failure(self._stage.value, str(finding.kind), finding.message)
            self._failures.append(failure)
        if not report.passed:
            self._wrong = any(finding.size for finding in report.findings)
            raise Stopped

    def _prepared(self, compiled: Compiled, task: Task, size: str) -> Timed:
        """What is to be timed, in its buffers: others may work meanwhile."""
        trial = self._trial
        work = workload(task, size, dtype_name=trial.dtype, seed=trial.seed)
        known = self._yardsticks.setdefault(size, Yardsticks())
        timed = Timed.prepare(compiled, work, trial.plan.mode, known)
        self._occupancy = occupancy_of(timed.bound, compiled, self._device)
        if self._hush is not None:
            self._hush()
        return timed

    def _measure(self, timed: Timed, task: Task, size: str) -> None:
        trial = self._trial
        self._measurement = timed.measure(
            replace(trial.plan, seed=trial.seed), self._observer.stage_progress
        )
        self._state = self._device.state()
        self._notes += (*warnings(self._state), *self._measurement.doubts)
        if trial.against and task.apart is None:
            self._notes += (f"no form of it on {trial.against} is declared: only MLX's are timed",)
        done = task.flops(size), task.bytes(size, trial.dtype)
        peaks = peaks_of(self._device, done[1], trial.dtype, trial.plan.mode)
        simulated = self._device.kind == "cpu"
        self._analysis = analyse(self._measurement, *done, simulated=simulated, peaks=peaks)
        self._expect_possible(task, self._measurement.work_ns, self._analysis.work)

    def _expect_possible(self, task: Task, time_ns: Interval, work: Throughput) -> None:
        """Raise Stopped for a time that nothing on this machine can have; on Metal note it.

        Nobody has compared the measured ceilings with those of real Macs.
        """
        for again in (False, True):  # something else may have run when the ceiling was measured
            ceiling = ceiling_of(self._device, again=again)
            said = implausible(time_ns, work, ceiling, self._device.kind)
            if not said:
                return
        message = f"[{task.name}] {said}"
        if self._device.kind == "metal":
            self._notes.append(f"implausible time: {message}")
            return
        self._failures.append(Failure(self._stage.value, str(Kind.IMPLAUSIBLE), message))
        raise Stopped

    def _recheck(self, timed: Timed, task: Task, size: str, seed: int) -> None:
        """Judge what the timing left, whether each pass did its work, and a pass on new inputs."""
        self._note(timed.turns.left_behind())
        assert self._measurement is not None
        samples = self._measurement.samples
        self._note(timed.audit.report(samples.candidate_ns, samples.candidate_window))
        self._note(
            timed.turns.run_on(workload(task, size, dtype_name=self._trial.dtype, seed=seed))
        )

    def _result(self, seconds: float) -> Result:
        status = Status.CORRECT
        if self._failures:
            status = Status.INCORRECT if self._wrong else Status.FAILED
            if {failure.kind for failure in self._failures} == {str(Kind.NOT_OWN_WORK)}:
                status = Status.NOT_OWN
        # A time of wrong results is no time.
        right = status is Status.CORRECT
        case = case_of(self._trial, task_of(self._trial), self._device)
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
            unconfined=self._unconfined,
        )
