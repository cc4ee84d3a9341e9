"""A Python candidate's way: as a kernel's, with whole calls in place of launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from metalbench import verify
from metalbench.errors import DeclarationError
from metalbench.measure import Sides, measure
from metalbench.python_candidate.account import LEAST_SHARE, Overhead
from metalbench.python_candidate.calls import (
    SLOTS_BYTES,
    WINDOW_NS,
    ReferenceProcess,
    Timing,
    WholeCalls,
)
from metalbench.python_candidate.candidate import Candidate, layout
from metalbench.python_candidate.player import KernelsNeeded
from metalbench.python_candidate.source import NO_KERNEL, NOT_NEEDED, TOO_LITTLE, parse
from metalbench.result import Failure, Result
from metalbench.run.attempt import Abort, Attempt
from metalbench.run.contest import choose_form
from metalbench.run.failing import EXPLICABLE
from metalbench.run.stages import Observer, Stage
from metalbench.run.timed import FORMS_LEAST_S, FORMS_SHARE
from metalbench.run.trial import Trial
from metalbench.task.dtypes import dtype
from metalbench.task.workload import Workload, workload
from metalbench.verify import Kind, VerifyPlan
from metalbench.verify.examine import ReferenceErrors

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.task import Task

# How the note of a candidate begins whose process was not confined.
UNCONFINED = "its process was not confined"


def attempt(
    device: Device,
    trial: Trial,
    observer: Observer,
    *,
    wait_until_quiet: Callable[[], None] | None = None,
) -> Result:
    """Take one Python candidate through all stages but the recording; as `run.attempt.attempt`.

    Raises DeclarationError on other devices than `cpu`: its process is sealed, which no driver of a
    GPU bears.
    """
    if device.kind != "cpu":
        raise DeclarationError(
            f"[{trial.entry.name}] {trial.kernel.path.name}: expected the cpu device for a Python "
            f"candidate, got {device.kind}; name it with --device cpu"
        )
    trial.check()
    return _PythonAttempt(device, trial, observer, wait_until_quiet).run()


class _PythonAttempt(Attempt):
    def __init__(
        self,
        device: Device,
        trial: Trial,
        observer: Observer,
        wait_until_quiet: Callable[[], None] | None,
    ) -> None:
        super().__init__(device, trial, observer, wait_until_quiet)
        self._needs_no_kernel = False

    def _run_stages(self) -> None:
        trial, task = self._trial, self._trial.entry.task
        self._enter(Stage.COMPILE)
        parse(trial.kernel.source, name=trial.entry.name, path=trial.kernel.path)
        size = trial.size_on(self._device)
        small = next(iter(task.sizes))
        *declared, drawn = verify.all_sizes(task, trial.seed, upto=size)
        first, *others = verify.seeds_for(task, size, trial.seed, timed=True)
        with ExitStack() as ending:
            plain = ending.enter_context(self._candidate(task))
            checked = ending.enter_context(self._candidate(task, checked=True))
            further = () if trial.verified else (*declared, drawn)
            self._compile_calls(plain, task, [small, size, *further], first)
            if plain.lacking:
                lacking = "; ".join(plain.lacking)
                self._unconfined = lacking
                self._notes += (
                    f"{UNCONFINED}: --unconfined let it run where the system lacks {lacking}; it "
                    "could do whatever its user may, this result included",
                )
            self._enter(Stage.VERIFY)
            try:
                for each in dict.fromkeys((small, size)):
                    self._verify_python(plain, replace(self._plan, sizes=[each], seeds=[first]))
            except Abort:
                if {failure.kind for failure in self._failures} <= EXPLICABLE:
                    self._check_python(checked, plain)
                raise
            if trial.timed:
                self._enter(Stage.MEASURE)
                work = workload(task, size, dtype_name=trial.dtype, seed=first)
                timing, overhead = self._measure_calls(plain, work)
                self._enter(Stage.RECHECK)
                self._judge(timing)
                self._check_own_work(timing, overhead)
            if trial.verified:
                return
            self._check_python(checked, plain)
            self._enter(Stage.VERIFY_ALL)
            self._verify_python(
                plain,
                replace(self._plan, sizes=[size], seeds=others, repeat=False, timed=size),
            )
            rest = [each for each in dict.fromkeys(further) if each != size]
            self._verify_python(plain, replace(self._plan, sizes=rest))

    def _check_python(self, checked: Candidate, plain: Candidate) -> None:
        """Run the checked builds of all kernels that are known, at the small sizes."""
        self._enter(Stage.CHECK)
        if plain.launches:
            checked.compile(plain.launches)
            sizes = verify.small_sizes(plain.task)
            self._verify_python(
                checked,
                replace(self._plan, sizes=sizes, seeds=[self._trial.seed], repeat=False),
            )
            checked.end()

    def _candidate(self, task: Task, *, checked: bool = False) -> Candidate:
        trial = self._trial
        return Candidate(
            self._device,
            trial.kernel,
            task,
            dtype(trial.dtype),
            checked=checked,
            unconfined=trial.unconfined,
        )

    def _compile_calls(
        self, candidate: Candidate, task: Task, sizes: Sequence[str], seed: int
    ) -> None:
        """Find the kernels that calls of all these sizes need, and compile them."""
        if self._wait_until_quiet is not None:
            self._wait_until_quiet()
        trial = self._trial
        works = [
            workload(task, each, dtype_name=trial.dtype, seed=seed) for each in dict.fromkeys(sizes)
        ]
        candidate.reserve(max(SLOTS_BYTES, *(layout(each).nbytes for each in works)))
        for work in works:
            slot = candidate.bind(work)
            slot.poison()
            try:
                candidate.call_as_loaded(layout(work))
            except KernelsNeeded as needs:
                if work is works[0]:
                    # A call of which none of the kernels ran: their outputs were zeros.
                    self._needs_no_kernel = slot.examiner().judge_last_run().passed
                candidate.compile(needs.launches)

    def _verify_python(self, candidate: Candidate, plan: VerifyPlan) -> None:
        self._record(verify.verify_compiled(candidate, plan))  # type: ignore[arg-type]

    def _measure_calls(self, candidate: Candidate, work: Workload) -> tuple[Timing, Overhead]:
        trial, task = self._trial, work.task
        plan = replace(trial.plan, seed=trial.seed, window_ns=WINDOW_NS, long_windows=0)
        forms = WholeCalls(work)
        choice = choose_form(
            forms, seconds=max(FORMS_LEAST_S, FORMS_SHARE * plan.seconds), seed=plan.seed
        )
        reference = ReferenceProcess(self._device, trial.entry, work, forms.form.kind)
        with reference:
            timing = Timing(candidate, reference, work)
            measured = measure(
                timing,
                Sides(timing.window, timing.run_reference),
                plan,
                progress=self._observer.stage_progress,
            )
            overhead = timing.overhead()
        remarks = (*choice.doubts, *measured.remarks)
        measured = replace(measured, forms=choice.forms, remarks=remarks)
        self._record_measurement(measured, task, work.size)
        return timing, overhead

    def _check_own_work(self, timing: Timing, overhead: Overhead) -> None:
        """Raise Abort unless the candidate's own kernels did the work that was timed."""
        account = timing.account()
        forged = account.find_forgery()
        if forged:
            self._fail(Kind.FORGED_TIMES, f"forged account of its kernels: {forged}")
        if not timing.candidate.launches:
            self._fail(Kind.NOT_OWN_WORK, f"{NO_KERNEL}: the candidate calls other operations only")
        if self._needs_no_kernel:
            self._fail(Kind.NOT_OWN_WORK, f"{NOT_NEEDED}: it was right when none of them had run")
        lack = timing.find_missing_work(overhead)
        if lack:
            self._fail(Kind.NOT_OWN_WORK, f"{TOO_LITTLE}: {lack}")
        share = account.own_share(overhead)
        launches = account.launches / max(account.calls, 1)
        if share < LEAST_SHARE:
            self._fail(
                Kind.NOT_OWN_WORK,
                f"{TOO_LITTLE}: they did {share:.0%} of it, in {launches:.3g} launches a call, and "
                f"the host {account.host_ns(overhead) / max(account.calls, 1) / 1e6:.3g} ms a call "
                f"besides copies and launches; expected {LEAST_SHARE:.0%} at least, or no time of "
                "it counts",
            )
        lack = timing.probe()
        if lack:
            self._fail(Kind.NOT_OWN_WORK, f"{NOT_NEEDED}: {lack}")
        source = "the system counts" if account.times else "its own process tells"
        self._notes += (
            f"its own kernels did {share:.0%} of a call's work, in {launches:.3g} launches, as "
            f"{source}; copies of inputs and outputs are in the time of both sides",
        )

    def _fail(self, kind: Kind, message: str) -> NoReturn:
        self._failures.append(Failure(self._stage.value, str(kind), message))
        raise Abort

    def _judge(self, timing: Timing) -> None:
        """Judge some of the calls that were timed; nobody knew which."""
        known = self._reference_errors.setdefault(timing.first.size, ReferenceErrors())
        for each in timing.samples:
            slot = each.slot(timing.candidate)
            report = slot.examiner(known).judge_last_run()
            if not report.passed:
                (finding, *_) = report.findings
                self._wrong = True
                self._failures.append(
                    Failure(
                        self._stage.value,
                        str(Kind.STALE_RESULT),
                        f"{finding.message}; of {timing.calls} timed calls this one was judged, "
                        "and the same was right before it was timed: every call must compute "
                        "everything",
                    )
                )
                raise Abort
            self._record(report)
