"""Whole calls, timed: from arrays of the host to results of the host, on both sides.

Times that the candidate's process reports are ignored. Every call has new inputs, so results
stored from another call do not help. Afterwards the oracle judges a few calls, which are drawn at
random.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, NoReturn

import mlx.core as mx
import numpy as np

from metalbench import _core, verify
from metalbench.devices import find_kind
from metalbench.errors import DeclarationError, MetalBenchError
from metalbench.kernel.header import Kernel
from metalbench.kernel.library import Entry
from metalbench.kernelbench.candidates.candidate import (
    TIME_LIMIT,
    Candidate,
    CandidateSlot,
    OutputArray,
    copy_inputs,
    layout,
)
from metalbench.kernelbench.candidates.messages import CandidateStart, ReferenceForm
from metalbench.kernelbench.candidates.own_work import (
    LEAST_FLOW,
    LEAST_SHARE,
    Account,
    Overhead,
    ProbeKind,
    find_missing_work,
    is_affine_match,
)
from metalbench.kernelbench.candidates.player import CallResult, KernelsNeeded
from metalbench.kernelbench.candidates.source import NO_KERNEL, NOT_NEEDED, TOO_LITTLE, parse
from metalbench.measure.sampling import Sides, measure
from metalbench.reference.chain import Reference, plain_ends
from metalbench.reference.evaluate import to_mlx, to_numpy
from metalbench.run.attempt import EXPLICABLE, Abort, TrialAttempt
from metalbench.run.reference_forms import choose_form
from metalbench.run.timed import FORMS_LEAST_S, FORMS_SHARE, like_seeds
from metalbench.run.trial import Observer, Stage, Trial
from metalbench.sandbox.resources import ProcessTimes
from metalbench.store.result import Failure, Result
from metalbench.task.dtypes import dtype
from metalbench.task.workload import Workload, workload
from metalbench.verify import Kind, VerifyPlan
from metalbench.verify.examine import ReferenceErrors

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.task import Task


# Slots of one request: so that asking is a small part of it, and drawing does not take for ever.
MOST_SLOTS = 64
SLOTS_BYTES = 64 << 20
# The number of timed calls that are judged. A candidate must skip the work in half of its calls to
# change the median. It passes then with a probability of 1 in 4096.
JUDGED = 12
WINDOW_NS = 10_000_000
# Calls of the reference that take longer are asked for one by one: then a candidate never has the
# inputs of two calls at once.
LONG_CALL_NS = 1_000_000


class WholeCalls(Reference):
    """The reference called as a candidate is: with arrays of the host, for arrays of the host."""

    def __call__(self, repetitions: int) -> None:
        """Make `repetitions` calls, one after the other, on the inputs that were loaded last."""
        for _ in range(repetitions):
            self.call(self.workload)

    def call(self, work: Workload) -> list[np.ndarray[Any, Any]]:
        """Make one call."""
        with mx.stream(self._stream):
            inputs = {name: to_mlx(each) for name, each in work.inputs.items()}
            return [to_numpy(each) for each in plain_ends(self.form.function(**inputs), None)]


@dataclass
class TimedCall:
    """One timed call: the inputs, and what it had left in its outputs when it said so."""

    work: Workload
    outputs: dict[str, np.ndarray[Any, Any]]

    def slot(self, candidate: Candidate) -> CandidateSlot:
        """As an Examiner sees it."""
        outputs = {name: OutputArray(each) for name, each in self.outputs.items()}
        return CandidateSlot(candidate, self.work, outputs)


class ReferenceProcess(Candidate):
    """A form of the reference in a process like the candidate's, called in the same way.

    It is not sealed: it is the task's own, and MLX may have to compile it.
    """

    def __init__(self, judge: _core.Device, entry: Entry, work: Workload, kind: str) -> None:
        nobody = Kernel(entry.name, entry.task_path, "", None, "", dispatches=())
        super().__init__(judge, nobody, work.task, work.dtype)
        self._form = ReferenceForm(kind, entry.task_path, entry.set)

    def _start(self, nbytes: int) -> CandidateStart:
        return CandidateStart(self._form.path.name, self.task.name, nbytes, form=self._form)


@dataclass
class CallTiming:
    """Times a candidate and its reference; a Sampler, whose decisions are the core's.

    `samples` are the calls to be judged, chosen from all alike.
    """

    candidate: Candidate
    reference: ReferenceProcess
    first: Workload
    own_clock: bool = False
    samples: list[TimedCall] = field(default_factory=list)
    calls: int = 0
    _results: list[tuple[int, CallResult]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._layout = layout(self.first)
        self._slots = 1
        if self._reference_ns() < LONG_CALL_NS:
            self._slots = max(1, min(MOST_SLOTS, SLOTS_BYTES // self._layout.nbytes))
        for each in (self.candidate, self.reference):
            each.reserve(self._slots * self._layout.nbytes)
        self._works = [self.first]
        self._seeds = like_seeds(self.first.task, self.first.seed)
        # Which calls are judged the candidate must not know, and the seed is the run's.
        self._random = random.SystemRandom()

    def sample(self, candidate: object, reference: object, **options: Any) -> _core.Samples:
        """Take a plan of samples, as a device's `sample` does."""
        options.pop("probe", None)
        return _core.sample_script(
            self.window,
            self.reference_window,
            floor=self.empty_window,
            now_ns=lambda: float(time.perf_counter_ns()),
            rest=lambda ns: time.sleep(ns / 1e9),
            **options,
        )

    def window(self, passes: int) -> float:
        """Return the time in ns of `passes` calls of the candidate, each on other inputs."""
        self._works = []
        return sum(map(self._time_batch, self._split_passes(passes)))

    def reference_window(self, passes: int) -> float:
        """Return the time in ns of `passes` calls of the reference, on the candidate's inputs."""
        works = cycle(self._works)
        batches = [list(islice(works, count)) for count in self._split_passes(passes)]
        return float(sum(self._call_side(self.reference, each).ns for each in batches))

    def run_reference(self, passes: int) -> None:
        """Make `passes` calls of the reference. Sampling calls `reference_window` instead."""
        self.reference_window(passes)

    def empty_window(self, passes: int) -> float:
        """Return the time in ns of the requests for `passes` calls, without the calls."""
        return float(
            sum(self.candidate.call(self._layout, 0).ns for _ in self._split_passes(passes))
        )

    def account(self) -> Account:
        """Return what all timed calls came to.

        Where the system does not tell times of every batch, it has none of any.
        """
        told = [result.times for _, result in self._results]
        known = [each for each in told if each is not None]
        whole = known and len(known) == len(told)
        return Account(
            sum(count for count, _ in self._results),
            float(sum(result.ns for _, result in self._results)),
            float(sum(result.launches for _, result in self._results)),
            float(sum(result.kernel_ns for _, result in self._results)),
            float(sum(result.reported_ns for _, result in self._results)),
            ProcessTimes(*map(sum, zip(*known, strict=True))) if whole else None,
            float(sum(result.read for _, result in self._results)),
            float(sum(result.written for _, result in self._results)),
        )

    def accounts(self) -> list[Account]:
        """Return what the calls of each request came to."""
        return [
            Account(
                count,
                float(result.ns),
                float(result.launches),
                float(result.kernel_ns),
                float(result.reported_ns),
                result.times,
                float(result.read),
                float(result.written),
            )
            for count, result in self._results
        ]

    def find_missing_work(self, overhead: Overhead) -> str:
        """Return what its kernels lack to be what does the work of the calls, or nothing."""
        inputs = sum(each.nbytes for each in self._layout.inputs)
        outputs = sum(each.nbytes for each in self._layout.outputs)
        return find_missing_work(self.accounts(), overhead, inputs, outputs)

    def probe(self) -> str:
        """Return how the result is right although its kernels go wrong, or nothing.

        Its process is ended: what a probe leaves in it is of no use.
        """
        ways = list(ProbeKind)
        self._random.shuffle(ways)
        try:
            for way in ways:
                found = self._probe_once(way)
                if found:
                    return found
        finally:
            self.candidate.end()
        return ""

    def _probe_once(self, way: ProbeKind) -> str:
        work = self._make_workload()
        slot = self.candidate.bind(work)
        slot.poison()
        try:
            _, written = self.candidate.probe(self._layout, way, self._random.getrandbits(63))
        except (MetalBenchError, KernelsNeeded):
            # It noticed: what its kernels compute is of use to it.
            self.candidate.end()
            return ""
        got = {each.name: slot.read(each.name) for each in self._layout.outputs}
        if is_affine_match(work.expected, got, work.dtype.name):
            return f"its result was the expected one, up to a scale and an offset, when {way.words}"
        whole = sum(each.nbytes for each in self._layout.outputs)
        if way is ProbeKind.OTHER_INPUTS and written < LEAST_FLOW * whole:
            return f"its kernels wrote {written} bytes, and the outputs of a call are {whole}"
        return ""

    def overhead(self) -> Overhead:
        """Return what a call's copies and a launch cost, measured in the reference's process."""
        self.reference.call(self._layout)
        return self.reference.overhead()

    def _split_passes(self, passes: int) -> list[int]:
        whole, rest = divmod(passes, self._slots)
        return [self._slots] * whole + ([rest] if rest else [])

    def _time_batch(self, count: int) -> float:
        works = [self._make_workload() for _ in range(count)]
        self._works = [*self._works, *works][-MOST_SLOTS:]
        result = self._call_side(self.candidate, works)
        self._results.append((count, result))
        for place, work in enumerate(works):
            self._keep_sample(place * self._layout.nbytes, work)
        return float(result.ns)

    def _call_side(self, side: Candidate, works: Sequence[Workload]) -> CallResult:
        """Call a side once for each workload, with nothing of another call in its outputs."""
        # It is warm when its time begins: drawing takes longer than calls do. What will be timed is
        # not in its memory yet.
        side.call(self._layout)
        memory = side.reserve(0).memory
        for place, work in enumerate(works):
            begin = place * self._layout.nbytes
            copy_inputs(memory, begin, self._layout, work)
            for each in self._layout.outputs:
                OutputArray(each.array(memory, begin)).poison()
        return side.call(self._layout, len(works), limit_s=TIME_LIMIT * len(works))

    def _reference_ns(self) -> int:
        """Return the least time of some calls of the reference."""
        arena = self.reference.reserve(self._layout.nbytes)
        copy_inputs(arena.memory, 0, self._layout, self.first)
        return min(self.reference.call(self._layout).ns for _ in range(3))

    def _make_workload(self) -> Workload:
        task, size, kind = self.first.task, self.first.size, self.first.dtype.name
        return workload(task, size, dtype_name=kind, seed=next(self._seeds))

    def _keep_sample(self, begin: int, work: Workload) -> None:
        """Every call so far is among the samples with the same chance (Vitter's algorithm R)."""
        self.calls += 1
        place = len(self.samples)
        if place == JUDGED:
            place = self._random.randrange(self.calls)
            if place >= JUDGED:
                return
            del self.samples[place]
        memory = self.candidate.reserve(0).memory
        outputs = {each.name: each.array(memory, begin).copy() for each in self._layout.outputs}
        self.samples.insert(place, TimedCall(work, outputs))


# A Python candidate's way: as a kernel's, with whole calls in place of launches.

# The beginning of the note about a candidate whose process was not confined.
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
    if not find_kind(device.kind).is_simulated:
        raise DeclarationError(
            f"[{trial.entry.name}] {trial.kernel.path.name}: expected the cpu device for a Python "
            f"candidate, got {device.kind}; name it with --device cpu"
        )
    trial.check()
    return _PythonAttempt(device, trial, observer, wait_until_quiet).run()


class _PythonAttempt(TrialAttempt):
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

    def _measure_calls(self, candidate: Candidate, work: Workload) -> tuple[CallTiming, Overhead]:
        trial, task = self._trial, work.task
        plan = replace(trial.plan, seed=trial.seed, window_ns=WINDOW_NS, long_windows=0)
        forms = WholeCalls(work)
        choice = choose_form(
            forms, seconds=max(FORMS_LEAST_S, FORMS_SHARE * plan.seconds), seed=plan.seed
        )
        reference = ReferenceProcess(self._device, trial.entry, work, forms.form.kind)
        with reference:
            timing = CallTiming(candidate, reference, work)
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

    def _check_own_work(self, timing: CallTiming, overhead: Overhead) -> None:
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

    def _judge(self, timing: CallTiming) -> None:
        """Judge some of the timed calls, which the candidate cannot predict."""
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
