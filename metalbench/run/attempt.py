"""Take one kernel through its stages: compile, verify, measure, verify again.

Quick checks come before the measurement, and the long ones after it, so that a result is measured
soon. A measurement counts only if all checks pass. A kernel that hangs on a GPU also stops the
display, so on a GPU the checked run, which the cpu device makes, comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from metalbench import verify
from metalbench._core import CompileError
from metalbench.devices import find_kind
from metalbench.errors import (
    Disturbed,
    ForgedTimes,
    KernelDied,
    MetalBenchError,
    TaskError,
    find_machine_error,
)
from metalbench.kernel.prepare import Builds, Compiled, find_folded_tests
from metalbench.measure.analysis import Analysis, Occupancy, Throughput, analyse, implausible
from metalbench.measure.device_limits import (
    MIB,
    OF_CACHE,
    Peaks,
    ceiling_of,
    roofs_of,
    tensor_gflops_of,
)
from metalbench.measure.measurement import Measurement, TimingMode
from metalbench.run.timed import Timed
from metalbench.run.trial import (
    SMALL,
    Observer,
    Stage,
    Trial,
    describe_case,
    device_facts,
    find_task,
    list_occupancy,
    locate_error,
    reduce_comparison,
)
from metalbench.store.result import Check, Facts, Failure, Result, Status, list_device_warnings
from metalbench.task import Task
from metalbench.task.declaration import TimedDevice
from metalbench.task.workload import workload
from metalbench.verify import Kind, VerifyPlan, report
from metalbench.verify.examine import ReferenceErrors
from metalbench.verify.flow import inputs_ahead

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.stats import Interval


# Choose the sizes at which a trial is verified, and the judge of each: oracle or MLX.

BY_REFERENCE = (
    "MLX in float32 judged the results (--oracle small): at size {}; the oracle, which judges at "
    "{}, was asked only where those two differ"
)


def choose_judge(trial: Trial, device: TimedDevice) -> Task:
    """Return the task of `trial`; with --oracle small, MLX judges a timed size that is not small.

    MLX runs on the MLX device that belongs to `device`.
    """
    task, size = trial.task, trial.size_on(device)
    if trial.oracle != SMALL or size in verify.small_sizes(task):
        return task
    from metalbench import reference  # and with it MLX

    return replace(task, judges={size: partial(reference.outputs, kind=device.kind)})


def list_other_sizes(task: Task, trial: Trial, size: str) -> tuple[list[str], str]:
    """Return the declared sizes to verify in addition to `size`, and a random size."""
    judged = size in task.judges
    upto = verify.small_sizes(task)[-1] if judged else size
    *declared, random_size = verify.all_sizes(task, trial.seed, upto=upto)
    return [each for each in declared if each != size], random_size


def list_remarks(task: Task) -> list[str]:
    """Return a note for each size at which MLX is the judge."""
    small = ", ".join(verify.small_sizes(task))
    return [BY_REFERENCE.format(size, small) for size in task.judges]


# Name the kind of a failure; list the kinds that a checked build may explain.

# Kinds of findings that a race or an access out of bounds can cause.
EXPLICABLE = {
    *map(str, (Kind.WRONG_RESULT, Kind.NOT_WRITTEN, Kind.NONDETERMINISTIC)),
    *map(str, (Kind.GUARD_ZONE, Kind.FAULT)),
}


def make_failure(error: Exception, stage: str) -> Failure:
    """Return the failure of an error in a stage; for foreign errors with file and line."""
    message = str(error) if isinstance(error, MetalBenchError) else locate_error(error)
    kind = type(error).__name__
    if isinstance(error, (Disturbed, ForgedTimes, KernelDied)):
        kind = report.make_finding(error).kind.value
    return Failure(stage, kind, message)


# The limits that a measurement is held against.


def find_peaks(
    device: Device, pass_bytes: float, dtype: str, mode: TimingMode, *, tensors: bool = False
) -> Peaks | None:
    """The measured limits of `device`; None where there are none to be measured.

    A pass of fewer bytes than several times the last-level cache may find some of them there: it is
    held against the cache, unless it is timed cold. A kernel with `tensors` is held against matrix
    products, if they are faster than multiply-adds in registers.
    """
    roofs, cache_bytes = roofs_of(device), device.capabilities.get("l2_bytes")
    if roofs is None or not isinstance(cache_bytes, int):
        return None
    from_memory = mode is TimingMode.COLD or pass_bytes >= OF_CACHE * cache_bytes
    moved = roofs.memory_gbytes_per_s if from_memory else roofs.cache_gbytes_per_s
    where = "memory" if from_memory else f"its cache of {cache_bytes / MIB:.0f} MiB"
    # Of half precision, a kernel may as well compute in float32.
    gflops, done = max(
        (roofs.float32_gflops, "multiply-adds in float32"),
        (roofs.float16_gflops if dtype != "float32" else 0.0, "multiply-adds in float16"),
        (tensor_gflops_of(device, dtype) if tensors else 0.0, "matrix products through tensors"),
    )
    return Peaks(gflops, moved, f"as measured here: copies in {where}, {done}")


class Abort(Exception):  # noqa: N818 - ends an attempt, and is not an error
    """End the attempt: the kernel has failed, and its failures are recorded."""


def attempt(
    device: Device,
    trial: Trial,
    observer: Observer,
    *,
    wait_until_quiet: Callable[[], None] | None = None,
) -> Result:
    """Take one kernel through all stages but the recording.

    `wait_until_quiet` is called before measuring. It returns when no other work of this program
    keeps the machine busy. Faults of the kernel, its task or its header are in the result. Raises
    KeyboardInterrupt, MachineError, Disturbed, and DeclarationError for a wrong size, element type
    or task file.
    """
    if trial.broken is None:
        trial.check()
    return TrialAttempt(device, trial, observer, wait_until_quiet).run()


@dataclass(frozen=True)
class _Subject:
    """The builds of the kernel of an attempt, the size to time, and the seeds to verify."""

    builds: Builds
    compiled: Compiled
    size: str
    seeds: Sequence[int]

    @property
    def task(self) -> Task:
        return self.builds.task

    @property
    def is_judged_by_reference(self) -> bool:
        """Whether MLX and not the oracle judges results of the timed size (--oracle small)."""
        return self.size in self.task.judges


class TrialAttempt:
    """The stages of one kernel, and the findings so far."""

    def __init__(
        self,
        device: Device,
        trial: Trial,
        observer: Observer,
        wait_until_quiet: Callable[[], None] | None,
    ) -> None:
        self._wait_until_quiet = wait_until_quiet
        self._device = device
        self._trial = trial
        self._observer = observer
        self._stage = Stage.COMPILE
        self._failures: list[Failure] = []
        self._checks: list[Check] = []
        self._notes: list[str] = []
        self._reference_errors: dict[str, ReferenceErrors] = {}
        self._plan = VerifyPlan(
            seed=trial.seed,
            progress=observer.stage_detail,
            reference_errors=self._reference_errors,
        )
        self._wrong = False
        self._unconfined = ""
        self._state: Facts | None = None
        self._occupancy: tuple[Occupancy, ...] = ()
        self._measurement: Measurement | None = None
        self._analysis: Analysis | None = None

    def run(self) -> Result:
        """Run all stages and return the result."""
        start = perf_counter()
        try:
            self._run_stages()
        except Abort:
            pass
        except Disturbed:
            raise
        except Exception as error:
            machine = find_machine_error(error)
            if machine is not None:
                raise machine from error
            if not isinstance(error, MetalBenchError) and not self._trial.kernel.is_python:
                # A kernel in Metal raises none: it comes from the task's own Python, or from MLX.
                name = self._trial.entry.name
                text = f"{type(error).__name__}: {locate_error(error)}"
                error = TaskError(f"[{name}] {text}")
            self._failures.append(make_failure(error, self._stage.value))
        return self._make_result(perf_counter() - start)

    def _run_stages(self) -> None:
        trial = self._trial
        subject = self._compile()
        self._verify_before_timing(subject)
        seeds = list(subject.seeds[1:])
        if trial.timed:
            timed = self._measure(subject)
            self._recheck(subject, timed, seeds.pop(0))
        if not trial.verified:
            self._verify_after_timing(subject, seeds)

    def _compile(self) -> _Subject:
        trial, device = self._trial, self._device
        self._enter(Stage.COMPILE)
        if trial.broken is not None:
            self._failures.append(trial.broken)
            raise Abort
        task, size = choose_judge(trial, device), trial.size_on(device)
        self._notes += list_remarks(task)
        builds = trial.builds(device, task)
        self._notes += find_folded_tests(builds.plain)
        seeds = verify.seeds_for(task, size, trial.seed, timed=True)
        return _Subject(builds, builds.plain, size, seeds)

    def _verify_before_timing(self, subject: _Subject) -> None:
        """Verify the smallest size and the timed size at the first seed."""
        task, size, seed = subject.task, subject.size, subject.seeds[0]
        # One of the repeated runs has other inputs.
        ahead = [seed] if subject.is_judged_by_reference else [seed, seed + task.turn]
        with inputs_ahead(task, size, ahead, dtype_name=self._trial.dtype):
            if self._checks_first:
                self._check(subject.builds)
            self._enter(Stage.VERIFY)
            try:
                for each in dict.fromkeys((next(iter(task.sizes)), size)):
                    repeat = each not in task.judges
                    self._verify(
                        subject.compiled,
                        replace(self._plan, sizes=[each], seeds=[seed], repeat=repeat),
                    )
            except Abort:
                # A checked run may show a race or an access out of bounds behind wrong results.
                kinds = {failure.kind for failure in self._failures}
                if not self._checks_first and kinds <= EXPLICABLE:
                    self._check(subject.builds)
                raise

    def _measure(self, subject: _Subject) -> Timed:
        """Time the kernel against its reference; raise Abort for an impossible time."""
        trial, task, size = self._trial, subject.task, subject.size
        # Allocate and fill the buffers. Other work may still run.
        work = workload(task, size, dtype_name=trial.dtype, seed=trial.seed)
        known = self._reference_errors.setdefault(size, ReferenceErrors())
        timed = Timed.prepare(subject.compiled, work, trial.plan.mode, known)
        self._occupancy = list_occupancy(timed.bound, subject.compiled, self._device)
        if self._wait_until_quiet is not None:
            self._wait_until_quiet()
        # Sample both sides.
        self._enter(Stage.MEASURE)
        plan = replace(trial.plan, seed=trial.seed)
        measurement = timed.measure(plan, self._observer.stage_progress)
        notes = []
        if trial.against and task.apart is None:
            notes.append(f"no form of it on {trial.against} is declared: only MLX's are timed")
        self._record_measurement(measurement, task, size, notes=notes)
        return timed

    def _record_measurement(
        self, measurement: Measurement, task: Task, size: str, *, notes: Sequence[str] = ()
    ) -> None:
        """Keep a measurement with its analysis; raise Abort for an impossible time."""
        trial = self._trial
        self._measurement = measurement
        self._state = self._device.state()
        self._notes += (*list_device_warnings(self._state), *measurement.doubts, *notes)
        in_place = bool(trial.kernel.inouts)
        done = task.flops(size), task.bytes(size, trial.dtype, in_place=in_place)
        tensors = bool(trial.kernel.variant)
        try:
            peaks = find_peaks(self._device, done[1], trial.dtype, trial.plan.mode, tensors=tensors)
        except CompileError as error:
            # The kernel is measured. The program that measures the roof is not a part of it.
            peaks = None
            self._notes += (f"no roof: its program does not compile: {error}",)
        simulated = find_kind(self._device.kind).is_simulated
        self._analysis = analyse(measurement, *done, simulated=simulated, peaks=peaks)
        self._expect_possible(task, measurement.work_ns, self._analysis.work)

    def _expect_possible(self, task: Task, time_ns: Interval, work: Throughput) -> None:
        """Raise Abort for a time that no kernel can reach on this machine; on Metal add a note.

        The measured ceilings have not been compared with those of real Macs.
        """
        for again in (False, True):  # other work may have run when the ceiling was measured
            ceiling = ceiling_of(self._device, again=again)
            reason = implausible(time_ns, work, ceiling, self._device.kind)
            if not reason:
                return
        message = f"[{task.name}] {reason}"
        if find_kind(self._device.kind).runs_mlx_on_metal:
            self._notes.append(f"implausible time: {message}")
            return
        self._failures.append(Failure(self._stage.value, str(Kind.IMPLAUSIBLE), message))
        raise Abort

    def _recheck(self, subject: _Subject, timed: Timed, seed: int) -> None:
        """Judge the outputs of the timed passes, their work, and a pass on new inputs."""
        self._enter(Stage.RECHECK)
        self._record(timed.rotation.judge_last_window())
        assert self._measurement is not None
        samples = self._measurement.samples
        self._record(timed.audit.report(samples.candidate_ns, samples.candidate_window))
        work = workload(subject.task, subject.size, dtype_name=self._trial.dtype, seed=seed)
        self._record(timed.rotation.judge_new_inputs(work))

    def _verify_after_timing(self, subject: _Subject, seeds: Sequence[int]) -> None:
        """Check bounds, races and repeated work; verify the other seeds and sizes."""
        builds, task, size = subject.builds, subject.task, subject.size
        seed, progress = self._trial.seed, self._observer.stage_detail
        declared, random_size = list_other_sizes(task, self._trial, size)
        # Checked and counted builds.
        checked_size = random_size if subject.is_judged_by_reference else size
        self._check_after_timing(builds, checked_size, random_size)
        self._record(verify.verify_same_work(builds, timed=size, seed=seed, progress=progress))
        # The remaining seeds of the timed size, of which the first has been repeated; other sizes.
        self._enter(Stage.VERIFY_ALL)
        if not subject.is_judged_by_reference:
            plan = replace(self._plan, sizes=[size], seeds=seeds, repeat=False, timed=size)
            self._verify(subject.compiled, plan)
        self._verify(subject.compiled, replace(self._plan, sizes=[*declared, random_size]))

    @property
    def _checks_first(self) -> bool:
        return not self._device.checked_builds

    def _verify(self, compiled: Compiled, plan: VerifyPlan) -> None:
        self._record(verify.verify_compiled(compiled, plan))

    def _check(self, builds: Builds) -> verify.Report:
        self._enter(Stage.CHECK)
        trial, progress = self._trial, self._observer.stage_detail
        report = verify.verify_checked(builds, seed=trial.seed, progress=progress)
        self._record(report)
        return report

    def _check_after_timing(self, builds: Builds, size: str, random_size: str) -> None:
        """Run the checked build at all sizes, unless the same code has passed all of that before.

        A GPU's kernel has run at small sizes before, in every attempt: it must not hang there.
        """
        trial, passed = self._trial, verify.CheckedPass(builds)
        note = None if trial.recheck else passed.load_note()
        if note is not None:
            self._enter(Stage.CHECK)
            self._notes.append(note)
            return
        small = None
        if self._checks_first:
            self._enter(Stage.CHECK)
        else:
            small = self._check(builds)
        as_timed = verify.verify_checked_as_timed(
            builds,
            size=size,
            random_size=random_size,
            seed=trial.seed,
            progress=self._observer.stage_detail,
        )
        self._record(as_timed)
        if not as_timed.skipped and not (small and small.skipped):
            passed.store()

    def _enter(self, stage: Stage) -> None:
        self._stage = stage
        self._observer.stage_started(stage)

    def _record(self, report: verify.Report) -> None:
        """Keep the comparisons and findings of a report; raise Abort if it has findings."""
        self._checks += [reduce_comparison(each) for each in report.comparisons]
        self._notes += report.skipped
        for finding in report.findings:
            failure = Failure(self._stage.value, str(finding.kind), finding.message)
            self._failures.append(failure)
        if not report.passed:
            self._wrong = any(
                finding.size and not finding.kind.prevents_run for finding in report.findings
            )
            raise Abort

    def _make_result(self, seconds: float) -> Result:
        status = Status.CORRECT
        if self._failures:
            status = Status.INCORRECT if self._wrong else Status.FAILED
            if {failure.kind for failure in self._failures} == {str(Kind.NOT_OWN_WORK)}:
                status = Status.NOT_OWN
        # The time of wrong results is not reported.
        is_correct = status is Status.CORRECT
        case = describe_case(self._trial, find_task(self._trial), self._device)
        if is_correct and self._measurement is not None:
            # The form of the reference that the ratio is against.
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
            measurement=self._measurement if is_correct else None,
            analysis=self._analysis if is_correct else None,
            seconds=seconds,
            state=self._device.state() if self._state is None else self._state,
            unconfined=self._unconfined,
        )
