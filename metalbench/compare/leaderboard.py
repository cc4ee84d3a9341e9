"""Records: submit kernels and settle by measurement which one is faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from metalbench import verify
from metalbench.compare.head_to_head import (
    Contest,
    Match,
    MatchRunner,
    WrongKernelError,
    check_side,
    head_to_head,
    require_measurement,
    run_match,
)
from metalbench.errors import DeclarationError, Disturbed, MachineError, MetalBenchError, TaskError
from metalbench.kernel.header import Kernel, parse
from metalbench.measure.measurement import Measurement, Plan
from metalbench.run.runner import Attempts
from metalbench.run.runner import run as run_trials
from metalbench.run.timed import like_seeds
from metalbench.run.trial import Observer, Silent, Trial, device_facts
from metalbench.stats import Interval, Verdict
from metalbench.store.environment import Environment, engine_on, environment
from metalbench.store.history import HistoryEntry
from metalbench.store.records import Record, RecordClaim, RecordPlace, find_author
from metalbench.store.result import DeviceFacts
from metalbench.store.store import Store

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.kernel.library import Entry
    from metalbench.store.result import Failure


def extract_header(source: str) -> str:
    """Return the lines above the first line of code, with `// dispatch:` and similar comments.

    They are stored separately, because in the whole text comments of an included header may follow.
    """
    lines = source.splitlines(keepends=True)
    return "".join(takewhile(lambda line: line.lstrip()[:2] in ("", "//"), lines))


def restore_kernel(task: str, file: str, header: str, source: str) -> Kernel:
    """Return the kernel stored as `header` and `source`; raises DeclarationError."""
    return replace(parse(header, name=task, path=Path(file)), source=source)


# Compare two kernels in pairs, and confirm a win on other inputs.

PAIRINGS = 2


class Site(Attempts, MatchRunner, Protocol):
    """A place that runs trials and matches, such as `metalbench.workers.pool.Workers`."""


@dataclass(frozen=True)
class RemoteSite:
    """A site outside of this process, and its device."""

    site: Site
    device: DeviceFacts
    entry: Entry

    def head_to_head(
        self, contest: Contest, progress: Callable[[float], None] | None
    ) -> Measurement:
        """Verify and time both kernels at the site; raises as the function of that name."""
        match = Match(
            self.entry,
            contest.before,
            contest.after,
            contest.names,
            dtype=contest.dtype,
            size=contest.size,
            plan=contest.plan,
            tunables=contest.tunables,
            knows_before=contest.knows_before,
            also_sizes=contest.also_sizes,
            thorough=False,
        )
        outcome = run_match(self.site, self.device, match, _Fraction(progress))
        return require_measurement(match, outcome)

    def find_fault(self, contest: Contest) -> Failure | None:
        """Return the first failure of `before`, verified as by `metalbench run`, or None."""
        trial = Trial(
            self.entry,
            contest.before,
            contest.dtype,
            contest.size,
            seed=contest.plan.seed,
            tunables=contest.tunables[0],
            timed=False,
        )
        failures = self.site.attempt(self.device, trial, (), Silent()).failures
        return failures[0] if failures else None


class _Fraction(Silent):
    """An observer that passes on the completed fraction of a measurement."""

    def __init__(self, progress: Callable[[float], None] | None) -> None:
        self._progress = progress

    def stage_progress(self, fraction: float) -> None:
        """Report the fraction."""
        if self._progress is not None:
            self._progress(fraction)


@dataclass(frozen=True)
class Pairings:
    """Measurements of one kernel in pairs with another, each with separate seeds.

    There is a second one only if the first is FASTER.
    """

    measured: tuple[Measurement, ...]

    @property
    def verdict(self) -> Verdict:
        """FASTER if all are, else the last verdict."""
        verdict = self.measured[-1].verdict
        assert verdict is not None
        return verdict

    @property
    def is_confirmed(self) -> bool:
        """Whether the kernel was FASTER in both measurements."""
        return len(self.measured) == PAIRINGS and self.verdict is Verdict.FASTER

    @property
    def gains(self) -> tuple[Interval, ...]:
        """The time of the other kernel over this one's, of each measurement."""
        return tuple(each.ratio for each in self.measured if each.ratio is not None)


def pair(
    where: Device | RemoteSite, contest: Contest, progress: Callable[[float], None] | None = None
) -> Pairings:
    """Time `contest.after` in pairs with `contest.before`, and repeat it if the verdict is FASTER.

    Seeds follow that of the contest's plan, and inputs have the same distributions. Equal kernels
    pass by chance once in ten thousand times: each verdict uses a 98 % interval, of which one side
    counts. Noise of one side that lasts for all pairs increases that probability.

    Raises
    ------
    WrongKernelError
        If one of the two is wrong.
    """
    measured: list[Measurement] = []
    for seed in islice(like_seeds(contest.task, contest.plan.seed), PAIRINGS):
        plan = replace(contest.plan, seed=seed)
        part = _progress(progress, len(measured))
        measured.append(_measure_contest(where, replace(contest, plan=plan), part))
        if measured[-1].verdict is not Verdict.FASTER:
            break
    return Pairings(tuple(measured))


def _measure_contest(
    where: Device | RemoteSite, contest: Contest, progress: Callable[[float], None] | None
) -> Measurement:
    if isinstance(where, RemoteSite):
        return where.head_to_head(contest, progress)
    return head_to_head(where, contest, progress)[1]


def _progress(
    progress: Callable[[float], None] | None, done: int
) -> Callable[[float], None] | None:
    if progress is None:
        return None
    return lambda fraction: progress((done + fraction) / PAIRINGS)


# The rule by which a result becomes the record of its place.
#
# It must be correct, of warm passes and with an interval. Without a previous record that is enough:
# a first record claims a time but no victory, so noise cannot win it. Otherwise the kernel runs in
# pairs with the record's kernel, in the same buffers, and must be FASTER twice, the second time on
# other inputs. The stored times of both are not used: a lucky time neither defends nor takes a
# record.

PAIRING_S = 5.0
RECORD, CHALLENGER = "the record", "the challenger"


class Decision(str, Enum):
    """The decision on a result that may become the record."""

    FIRST = "first record"  # there was none, or one that is wrong by now
    NEW = "new record"
    STANDS = "record stands"
    REFUSED = "refused"  # such a result can be no record


@dataclass(frozen=True)
class Ruling:
    """The decision on result number `result` with its reason, and the record after it.

    `gains` are the times of the previous record over the challenger's, of each pairing, and
    `verdict` is that of the last pairing; empty and None without pairings.
    """

    result: int
    place: RecordPlace
    record: Record | None
    decision: Decision
    why: str
    verdict: Verdict | None = None
    gains: tuple[Interval, ...] = ()

    @property
    def is_accepted(self) -> bool:
        """Whether the result is the record now."""
        return self.decision in (Decision.FIRST, Decision.NEW)


def submit(
    device: Device | DeviceFacts,
    store: Store,
    trial: Trial,
    *,
    origin: str,
    observer: Observer | None = None,
    attempts: AbstractContextManager[Attempts] | None = None,
    site: Site | None = None,
    here: Environment | None = None,
    plan: Plan | None = None,
    progress: Callable[[float], None] | None = None,
) -> Ruling:
    """Run a kernel as `metalbench run` does, store the result, and let it `enter`.

    `origin` names the submitting command or program, such as ``agent_steel``. `observer` follows
    the trial. `attempts` runs the trial, for example in a separate process. `progress` is called
    with the completed fraction of the pairings. `site` is as for `enter`. `here` describes the
    machine of the site if it is not this one.

    Raises
    ------
    DeclarationError
        If the trial is impossible, because of a wrong task, size or element type.
    KeyboardInterrupt
        If it was interrupted; then no record has changed.
    """
    outcome = run_trials(
        device,
        [trial],
        store,
        here or environment(),
        observer or Silent(),
        recorded_options={"origin": origin, "names": [trial.entry.name]},
        attempts=attempts,
    )
    if outcome.ended == "interrupted":
        raise KeyboardInterrupt
    if outcome.untried or outcome.number is None:
        raise DeclarationError("; ".join(outcome.untried))
    (entry,) = store.results(outcome.number)
    return enter(
        device, store, trial, entry.id, origin=origin, site=site, plan=plan, progress=progress
    )


def enter(
    device: Device | DeviceFacts,
    store: Store,
    trial: Trial,
    result: int,
    *,
    origin: str,
    site: Site | None = None,
    plan: Plan | None = None,
    progress: Callable[[float], None] | None = None,
) -> Ruling:
    """Make result number `result` of `trial` on `device` the record if it qualifies.

    `plan` is for each of the two pairings with the record, 5 s by default. `site` runs the
    pairings; without it they run in this process, which must have the device.

    Raises
    ------
    DeclarationError
        If the result is not that of the trial on this device.
    MachineError, TaskError, Disturbed
        If the fault is not that of a kernel.
    """
    entry, place = store.result(result), store.place_of(result)
    _expect_of(device, trial, entry, place)
    while True:
        record = store.record_at(place)
        timing = plan or Plan(seconds=PAIRING_S)
        challenge = _Challenge(choose_site(device, trial, site), trial, place, timing, progress)
        ruling = _decide_ruling(challenge, entry, record)
        if not ruling.is_accepted:
            return ruling
        over = record.number if record is not None else None
        header = extract_header(trial.kernel.source)
        claim = RecordClaim(result, header, origin, over, ruling.gains, find_author())
        if store.keep_record(place, claim):
            return replace(ruling, record=store.record_at(place))
        # Another result has become the record during timing: compare with that.


def choose_site(
    device: Device | DeviceFacts, trial: Trial, site: Site | None
) -> Device | RemoteSite:
    """Return the device or site of the pairings.

    Raises DeclarationError for a remote device without a site.
    """
    if site is not None:
        return RemoteSite(site, device_facts(device), trial.entry)
    if isinstance(device, DeviceFacts):
        raise DeclarationError(f"site: expected where kernels run on {device.name}, got None")
    return device


@dataclass(frozen=True)
class _Challenge:
    where: Device | RemoteSite
    trial: Trial
    place: RecordPlace
    plan: Plan
    progress: Callable[[float], None] | None

    def contest(self, record: Record) -> Contest:
        """Return the contest of the record's kernel with the trial's."""
        task = self.trial.entry.task
        older = restore_kernel(task.name, record.entry.kernel, record.header, record.source)
        return Contest(
            task,
            older,
            self.trial.kernel,
            names=(RECORD, CHALLENGER),
            dtype=self.place.dtype,
            size=self.place.size,
            plan=replace(self.plan, seed=self.trial.seed),
            tunables=(_keep_declared(record.entry.tunables, older), dict(self.trial.tunables)),
            knows_before=True,
            also_sizes=tuple(verify.small_sizes(task)),
        )


def _decide_ruling(challenge: _Challenge, entry: HistoryEntry, record: Record | None) -> Ruling:
    ruling = partial(Ruling, entry.id, challenge.place, record)
    fault = _find_obstacle(entry)
    if fault is not None:
        return ruling(Decision.REFUSED, fault)
    if record is None:
        return ruling(Decision.FIRST, "there was none")
    if _is_same_kernel(entry, record.entry):
        return ruling(Decision.STANDS, "it is this kernel already")
    try:
        wrong = _find_record_fault(challenge, record)
        if wrong is not None:
            return ruling(Decision.FIRST, f"the one before is wrong by now: {wrong}")
        found = pair(challenge.where, challenge.contest(record), challenge.progress)
    except WrongKernelError as error:
        return ruling(Decision.REFUSED, str(error))
    return ruling(*_decide(found), found.verdict, found.gains)


def _decide(found: Pairings) -> tuple[Decision, str]:
    if found.is_confirmed:
        return Decision.NEW, "FASTER than the record, and once more"
    again = " the second time" if len(found.measured) > 1 else ""
    return Decision.STANDS, f"{found.verdict.value}{again} in pairs with the record"


def _find_record_fault(challenge: _Challenge, record: Record) -> str | None:
    """Return the fault of the record's kernel with the present task; None without one."""
    if isinstance(challenge.where, RemoteSite):
        fault = challenge.where.find_fault(challenge.contest(record))
        return fault.message if fault is not None else None
    try:
        check_side(challenge.where, challenge.contest(record), 0)
    except WrongKernelError as error:
        return error.finding
    except (MachineError, TaskError, Disturbed):
        raise
    except MetalBenchError as error:
        return str(error)
    return None


def _find_obstacle(entry: HistoryEntry) -> str | None:
    """Return why a result can never be a record; None if it can."""
    if entry.status != "correct":
        return "the kernel has failed" if entry.status == "failed" else "the kernel is incorrect"
    if entry.mode != "warm":
        return f"records are of warm passes, and these were {entry.mode}"
    if entry.metal_tools:
        return f"{', '.join(entry.metal_tools)} was set, with which Metal is slower; unset it"
    if entry.verdict == Verdict.THROTTLED.value:
        return "the device's clock stayed low while it was measured; let it cool down"
    time_ns = entry.kernel_ns if entry.gpu_ns is None else entry.gpu_ns
    if time_ns is None or not time_ns.is_bounded:
        return "its time has no interval; measure longer, with --time"
    return None


def _is_same_kernel(one: HistoryEntry, other: HistoryEntry) -> bool:
    return one.source_hash == other.source_hash and one.tunables == other.tunables


def _keep_declared(tunables: Mapping[str, int], kernel: Kernel) -> dict[str, int]:
    return {name: value for name, value in tunables.items() if name in kernel.tunables}


def _expect_of(
    device: Device | DeviceFacts, trial: Trial, entry: HistoryEntry, place: RecordPlace
) -> None:
    """Raise DeclarationError unless the result belongs to the trial's kernel, task and device."""
    facts, engine = device_facts(device), engine_on(device.kind)
    task = trial.entry.task
    size = trial.size_on(device)
    wanted = {
        "device": (place.device_kind, place.device_name, place.device_cores, place.engine),
        "task": (place.task, place.dtype, place.size, dict(place.sizes)),
        "kernel": (entry.source_hash, dict(entry.tunables)),
    }
    got = {
        "device": (facts.kind, facts.name, facts.cores, engine),
        "task": (trial.entry.name, trial.dtype, size, dict(task.extents(size))),
        "kernel": (trial.kernel.hash, trial.tuned),
    }
    for what, value in wanted.items():
        if value != got[what]:
            raise DeclarationError(
                f"[{entry.task}] result {entry.id} is of another {what}: expected {value}, got "
                f"{got[what]}; submit a kernel with its own result"
            )
