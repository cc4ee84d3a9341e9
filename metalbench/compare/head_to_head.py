"""Time two kernels for one task in pairs: the most precise comparison."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from metalbench import verify
from metalbench.compare.comparison import BY_PAIRS, ComparedKernel, RunComparison
from metalbench.errors import DeclarationError, Disturbed, MetalBenchError, find_machine_error
from metalbench.kernel.header import Kernel
from metalbench.kernel.library import Entry
from metalbench.kernel.prepare import Builds, compile_kernel
from metalbench.measure.device_limits import create_probe
from metalbench.measure.measurement import Measurement, Plan
from metalbench.measure.sampling import Sides, measure
from metalbench.run.timed import BufferRotation, ReuseAudit, Values, like_seeds
from metalbench.run.trial import Observer, Stage, device_facts
from metalbench.store.result import DeviceFacts, Failure
from metalbench.task.workload import workload
from metalbench.verify import Kind, VerifyPlan
from metalbench.verify.examine import ReferenceErrors
from metalbench.verify.held_out import HeldOut, HeldOutVerifier
from metalbench.verify.report import make_finding

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.task import Task
    from metalbench.task.declaration import TimedDevice


@dataclass(frozen=True)
class Contest:
    """Two kernels, their names, and how they are compared.

    `size` None is the task's headline size on the device. `tunables` are those that differ from
    each kernel's defaults. With `knows_before`, `before` is known to be correct and is not verified
    again. Both are verified at the timed size and at `also_sizes`; with `thorough` at all sizes and
    in a checked build, as `metalbench run` does. With `held_out`, only `after` is verified, in
    these cases and at the timed size; cases in which `before` fails, too, are left out.
    `reference_errors` are those by size, as far as known; new ones are added.
    """

    task: Task
    before: Kernel
    after: Kernel
    names: tuple[str, str]
    dtype: str = "float32"
    size: str | None = None
    plan: Plan = field(default_factory=Plan)
    tunables: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {})
    knows_before: bool = False
    also_sizes: tuple[str, ...] = ()
    thorough: bool = False
    held_out: HeldOut | None = None
    reference_errors: dict[str, ReferenceErrors] = field(default_factory=dict)

    def size_on(self, device: TimedDevice) -> str:
        """Return the size that is timed on `device`."""
        return self.size or self.task.headline_on(device)

    def builds_on(self, device: Device) -> tuple[Builds, Builds]:
        """Return the builds of both kernels for `device`."""
        before, after = (
            Builds(device, kernel, self.task, self.dtype, tunables)
            for kernel, tunables in zip((self.before, self.after), self.tunables, strict=True)
        )
        return before, after


class WrongKernelError(MetalBenchError):
    """One of the two kernels is incorrect, so its time is meaningless.

    `name` is the kernel's name, `finding` the message and `kind` the kind of the finding.
    """

    def __init__(self, name: str, finding: str, kind: verify.Kind) -> None:
        super().__init__(f"{name} is not correct, so it has no time: {finding}")
        self.name = name
        self.finding = finding
        self.kind = kind


def _ignore_stage(_: Stage) -> None:
    pass


def head_to_head(
    device: Device, contest: Contest, progress: Callable[[float], None] | None = None
) -> tuple[RunComparison, Measurement]:
    """Verify both kernels, then time them in pairs of random order, in the same buffers.

    If one of them updates an input in place, they have different buffers with equal contents.

    As for `metalbench run`, sets of inputs are rotated, and exchanged between batches. Returns the
    comparison, and its measurement, in which `after` is the candidate.

    Raises
    ------
    WrongKernelError
        If one is wrong at the timed size, before or after timing.
    MetalBenchError
        If one does not compile or fits neither task nor device.
    """
    measured = run_contest(device, contest, progress=progress)
    return build_comparison(contest, measured, device), measured


def run_contest(
    device: Device,
    contest: Contest,
    *,
    enter: Callable[[Stage], None] = _ignore_stage,
    progress: Callable[[float], None] | None = None,
) -> Measurement:
    """Verify both kernels and time them, as `head_to_head`; calls `enter` with every stage."""
    task, size = contest.task, contest.size_on(device)
    builds = contest.builds_on(device)
    verify_contest(device, contest, builds, enter)
    older, newer = (each.plain for each in builds)
    work = workload(task, size, dtype_name=contest.dtype, seed=contest.plan.seed)
    known = contest.reference_errors.setdefault(size, ReferenceErrors())
    candidate = BufferRotation.of(newer, work, contest.plan.mode, known)
    reference = candidate.bind_another(older)
    enter(Stage.MEASURE)
    audits = ReuseAudit(reference), ReuseAudit(candidate)
    measured = _measure_pairs(device, audits, contest.plan, progress)
    enter(Stage.RECHECK)
    samples = measured.samples
    _verify_again(
        contest, audits[0], contest.names[0], samples.reference_ns, samples.reference_window
    )
    _verify_again(
        contest, audits[1], contest.names[1], samples.candidate_ns, samples.candidate_window
    )
    return measured


def verify_contest(
    device: Device,
    contest: Contest,
    builds: tuple[Builds, Builds],
    enter: Callable[[Stage], None] = _ignore_stage,
) -> None:
    """Verify the kernels of a contest; raise WrongKernelError."""
    if contest.held_out is None:
        for side in range(int(contest.knows_before), 2):
            check_side(device, contest, side, enter, builds[side])
        return
    enter(Stage.VERIFY_ALL)
    before, after = builds
    held_out = HeldOutVerifier(after, before, contest.plan.seed, contest.reference_errors)
    size = contest.size_on(device)
    if not held_out.passes_other_at(size):
        message = f"it is not correct at the held-out size {size}"
        raise WrongKernelError(contest.names[0], message, Kind.WRONG_RESULT)
    _expect_right(held_out.verify(contest.held_out, size), contest.names[1])


def _measure_pairs(
    device: Device,
    audits: tuple[ReuseAudit, ReuseAudit],
    plan: Plan,
    progress: Callable[[float], None] | None,
) -> Measurement:
    """Time the second of two audited kernels against the first."""
    reference, candidate = (each.rotation for each in audits)

    def exchange(look: int) -> None:
        candidate.exchange_inputs(look)
        reference.adopt_inputs(candidate)

    def audit_both() -> None:
        for each in audits:
            each.run()

    sides = Sides(
        candidate.dispatches,
        reference.dispatches,
        repeats=len(candidate.passes),
        reference_repeats=len(reference.passes),
        probe=create_probe(device),
        refresh=exchange,
        interlude=audit_both,
    )
    measured = measure(device, sides, plan, progress=progress)
    return replace(measured, remarks=(*candidate.doubts, *measured.remarks))


def check_side(
    device: Device,
    contest: Contest,
    side: int,
    enter: Callable[[Stage], None] = _ignore_stage,
    builds: Builds | None = None,
) -> None:
    """Raise WrongKernelError if a kernel, 0 for `before`, is wrong at one of its sizes."""
    task, size = contest.task, contest.size_on(device)
    builds = builds or contest.builds_on(device)[side]
    plan = VerifyPlan(seed=contest.plan.seed, reference_errors=contest.reference_errors)
    # A kernel that hangs on a GPU stops the display, so on a GPU the checked build runs first.
    if not device.checked_builds:
        _check_build(builds, contest, side, enter)
    enter(Stage.VERIFY)
    first = [next(iter(task.sizes))] if contest.thorough else []
    sizes = list(dict.fromkeys([*first, *contest.also_sizes, size]))
    report = verify.verify(builds, replace(plan, sizes=sizes, seeds=[plan.seed]))
    _expect_right(report, contest.names[side])
    if not contest.thorough:
        return
    if device.checked_builds:
        _check_build(builds, contest, side, enter)
    enter(Stage.VERIFY_ALL)
    for each in dict.fromkeys(verify.all_sizes(task, plan.seed, upto=size)):
        seeds = verify.seeds_for(task, each, plan.seed)
        # The first seed of some sizes has been verified, and repeated, above.
        left = seeds[1:] if each in sizes else seeds
        further = replace(plan, sizes=[each], seeds=left, repeat=each not in sizes)
        _expect_right(verify.verify(builds, further), contest.names[side])


def _check_build(
    builds: Builds, contest: Contest, side: int, enter: Callable[[Stage], None]
) -> None:
    enter(Stage.CHECK)
    _expect_right(verify.verify_checked(builds, seed=contest.plan.seed), contest.names[side])


def _verify_again(
    contest: Contest, audit: ReuseAudit, name: str, pass_ns: Values, window: int
) -> None:
    """Raise WrongKernelError unless the timed kernel is still correct on other inputs."""
    rotation = audit.rotation
    rotation.exchange_inputs(rotation.exchanges + 1)
    rotation.run()
    _expect_right(rotation.judge_last_window(), name)
    _expect_right(audit.report(pass_ns, window), name)
    seed = next(like_seeds(contest.task, max(each.seed for each in rotation.workloads)))
    size = rotation.bound.workload.size
    other = workload(contest.task, size, dtype_name=contest.dtype, seed=seed)
    _expect_right(rotation.judge_new_inputs(other), name)


def _expect_right(report: verify.Report, name: str) -> None:
    if not report.passed:
        finding = report.findings[0]
        raise WrongKernelError(name, finding.message, finding.kind)


def build_comparison(
    contest: Contest, measured: Measurement, device: Device | DeviceFacts
) -> RunComparison:
    """Build the comparison of two kernels from their measurement on a device."""
    assert measured.judgement is not None
    assert measured.reference_ns is not None
    assert measured.verdict is not None
    before, after = contest.names
    compared = ComparedKernel(
        task=contest.task.name,
        dtype=contest.dtype,
        size=contest.size_on(device),
        before_ns=measured.reference_ns,
        after_ns=measured.candidate_ns,
        same_source=contest.before.hash == contest.after.hash,
        by=BY_PAIRS,
        judgement=replace(measured.judgement, verdict=measured.verdict),
    )
    where = f"{device.kind} ({device.name})"
    return RunComparison(before, after, where, measured.mode.value, (compared,))


# A contest of two kernels as a message for another process, and its outcome.


@dataclass(frozen=True)
class Match:
    """A contest in a form that can be sent: with the task's file in place of the task.

    With `thorough`, `after` is verified as `metalbench run` does, else at the timed size and
    `also_sizes`; `before` likewise, unless it is known to be correct. Fields are as in `Contest`.
    Without `timed` the kernels are only verified.
    """

    entry: Entry
    before: Kernel
    after: Kernel
    names: tuple[str, str]
    dtype: str = "float32"
    size: str | None = None
    plan: Plan = field(default_factory=Plan)
    tunables: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {})
    knows_before: bool = True
    also_sizes: tuple[str, ...] = ()
    thorough: bool = True
    held_out: HeldOut | None = None
    timed: bool = True

    def contest(self) -> Contest:
        """Load the task; raises TaskError if that fails."""
        return Contest(
            self.entry.task,
            self.before,
            self.after,
            self.names,
            dtype=self.dtype,
            size=self.size,
            plan=self.plan,
            tunables=self.tunables,
            knows_before=self.knows_before,
            also_sizes=self.also_sizes,
            thorough=self.thorough,
            held_out=self.held_out,
        )


@dataclass(frozen=True, slots=True)
class MatchOutcome:
    """The outcome of a match: a measurement with `after` as its candidate, or a failure.

    A match that is not timed, and has no failure, has neither of the two.

    `wrong` is the name of the kernel that was found to be incorrect; None if that is unknown, as
    after the death of a process. `measured_from` and `measured_to` are instants of the system's
    monotonic clock in seconds, around the sampling; None without sampling.
    """

    device: DeviceFacts
    failure: Failure | None = None
    measurement: Measurement | None = None
    measured_from: float | None = None
    measured_to: float | None = None
    notes: tuple[str, ...] = ()
    wrong: str | None = None


class MatchRunner(Protocol):
    """A place that runs matches: `metalbench.workers.pool.Workers`, or another machine."""

    def play(self, device: DeviceFacts, match: Match, observer: Observer) -> MatchOutcome:
        """Verify and time a match's candidate."""


def run_match(
    players: MatchRunner, device: DeviceFacts, match: Match, observer: Observer
) -> MatchOutcome:
    """Run a match; repeat it once if memory ran out, which other processes may have used."""
    outcome = players.play(device, match, observer)
    failure = outcome.failure
    if failure is not None and Kind(failure.kind) is Kind.OUT_OF_MEMORY:
        return players.play(device, match, observer)
    return outcome


def require_measurement(match: Match, outcome: MatchOutcome) -> Measurement:
    """Return the measurement of a match; raises WrongKernelError if there was a failure."""
    failure = outcome.failure
    if failure is not None:
        suspects = match.names[1:] if match.knows_before else match.names
        raise WrongKernelError(
            outcome.wrong or " or ".join(suspects), failure.message, Kind(failure.kind)
        )
    assert outcome.measurement is not None
    return outcome.measurement


def play(
    device: Device,
    match: Match,
    observer: Observer,
    *,
    wait_until_quiet: Callable[[], None] | None = None,
) -> MatchOutcome:
    """Verify `after` of a match, and time it in pairs with `before`.

    `wait_until_quiet` is called before measuring, and returns when the machine is quiet. A fault of
    the kernel is in the outcome. Raises MachineError if the machine is at fault, Disturbed if the
    system ended a run because of other processes, and DeclarationError if the task is wrong.
    """
    return _MatchRun(device, match.contest(), observer, wait_until_quiet, timed=match.timed).run()


def precompile(device: Device, match: Match, *, checked: bool) -> None:
    """Compile into the cache for `play`; errors are left to `play`."""
    with contextlib.suppress(Exception):
        compile_kernel(
            device,
            match.after,
            match.entry.task,
            dtype_name=match.dtype,
            tunables=match.tunables[1],
            checked=checked,
        )


class _MatchRun:
    """One run of a match, with its present stage."""

    def __init__(
        self,
        device: Device,
        contest: Contest,
        observer: Observer,
        wait_until_quiet: Callable[[], None] | None,
        *,
        timed: bool,
    ) -> None:
        self._timed = timed
        self._device = device
        self._contest = contest
        self._observer = observer
        self._wait_until_quiet = wait_until_quiet
        self._stage = Stage.COMPILE
        self._from: float | None = None
        self._to: float | None = None

    def run(self) -> MatchOutcome:
        measured: Measurement | None = None
        failure: Failure | None = None
        wrong: str | None = None
        try:
            if self._timed:
                measured = run_contest(
                    self._device,
                    self._contest,
                    enter=self._enter,
                    progress=self._observer.stage_progress,
                )
            else:
                builds = self._contest.builds_on(self._device)
                verify_contest(self._device, self._contest, builds, self._enter)
        except Disturbed:
            raise
        except Exception as error:
            machine = find_machine_error(error)
            if machine is not None:
                raise machine from error
            # A fault of the kernel's declarations is a finding, not a DeclarationError.
            if isinstance(error, DeclarationError) or not isinstance(error, MetalBenchError):
                raise
            failure = self._failure(error)
            wrong = error.name if isinstance(error, WrongKernelError) else None
        facts = device_facts(self._device)
        return MatchOutcome(facts, failure, measured, self._from, self._to, wrong=wrong)

    def _failure(self, error: MetalBenchError) -> Failure:
        if isinstance(error, WrongKernelError):
            return Failure(self._stage.value, str(error.kind), error.finding)
        found = make_finding(error)
        return Failure(self._stage.value, str(found.kind), found.message)

    def _enter(self, stage: Stage) -> None:
        if self._stage is Stage.MEASURE:
            self._to = monotonic()
        if stage is Stage.MEASURE and self._wait_until_quiet is not None:
            self._wait_until_quiet()
        self._observer.stage_started(stage)
        self._stage = stage
        if stage is Stage.MEASURE:
            self._from = monotonic()
