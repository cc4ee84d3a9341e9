"""How a result becomes the record of its place: the one way there is.

Correct it must be, of warm passes and with an interval. Where there is no record yet that is
enough, for a first record claims a time and no victory, so that there is none for noise to win.
Where there is one, the kernel is run in turn with the record's, in pairs in the same buffers, and
must be FASTER; then once more, on other inputs. The times that both were kept with play no part: a
lucky one neither defends a record nor takes one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from metalbench import verify
from metalbench.comparison.head_to_head import Contest, WrongKernelError, check_side
from metalbench.errors import (
    DeclarationError,
    Disturbed,
    MachineError,
    MetalBenchError,
    TaskError,
)
from metalbench.kernel import Kernel
from metalbench.leaderboard.pairing import Apart, Pairings, Site, pair
from metalbench.leaderboard.source import header_of, kernel_of
from metalbench.measure import Plan
from metalbench.result import DeviceFacts
from metalbench.result.environment import Environment, engine_on, environment
from metalbench.run.observed import device_facts
from metalbench.run.runner import Attempts
from metalbench.run.runner import run as run_trials
from metalbench.run.stages import Observer, Silent
from metalbench.run.trial import Trial
from metalbench.stats import Interval, Verdict
from metalbench.store import Claim, HistoryEntry, Place, Record, Store

if TYPE_CHECKING:
    from metalbench._core import Device

PAIRING_S = 5.0
RECORD, CHALLENGER = "the record", "the challenger"


class Decision(str, Enum):
    """What became of a result that would be the record."""

    FIRST = "first record"  # there was none, or one that is wrong by now
    NEW = "new record"
    STANDS = "record stands"
    REFUSED = "refused"  # such a result can be no record


@dataclass(frozen=True)
class Ruling:
    """What was decided of result number `result` and why, with the record that there is after it.

    `gains` are the time of the record before over the challenger's, of each pairing, and `verdict`
    is that of the last one; None and none where nothing was run in pairs.
    """

    result: int
    place: Place
    record: Record | None
    decision: Decision
    why: str
    verdict: Verdict | None = None
    gains: tuple[Interval, ...] = ()

    @property
    def accepted(self) -> bool:
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
    """Try a kernel as `metalbench run` does, keep the result, and let it `enter`.

    `origin` says what brought it in, such as ``agent_steel``. `observer` hears of the trial,
    `attempts` says where it is made, in a process of its own, say; `progress` is told the fraction
    of the pairings with the record. `site` is as for `enter`, and `here` describes the machine that
    it is on, where that is not this one.

    Raises
    ------
    DeclarationError
        If the trial cannot be made: of a wrong task, size or element type.
    KeyboardInterrupt
        If it was interrupted; nothing has become a record then.
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
    """Let result number `result`, which `trial` gave on `device`, become the record if it may.

    `plan` is of each of the two pairings with the record, 5 s if none is given. `site` is where
    they are timed: without it in this process, which has to have the device.

    Raises
    ------
    DeclarationError
        If the result is not that of the trial on this device.
    MachineError, TaskError, Disturbed
        If what is to blame is no kernel.
    """
    entry, place = store.result(result), store.place_of(result)
    _expect_of(device, trial, entry, place)
    while True:
        record = store.record_at(place)
        timing = plan or Plan(seconds=PAIRING_S)
        challenge = _Challenge(where(device, trial, site), trial, place, timing, progress)
        ruling = _ruling(challenge, entry, record)
        if not ruling.accepted:
            return ruling
        over = record.number if record is not None else None
        header = header_of(trial.kernel.source)
        if store.keep_record(place, Claim(result, header, origin, over, ruling.gains)):
            return replace(ruling, record=store.record_at(place))
        # Another has become the record while this one was timed: now that is the one to beat.


def where(device: Device | DeviceFacts, trial: Trial, site: Site | None) -> Device | Apart:
    """Where a trial's kernel is run in pairs; raises DeclarationError for a device elsewhere."""
    if site is not None:
        return Apart(site, device_facts(device), trial.entry)
    if isinstance(device, DeviceFacts):
        raise DeclarationError(f"site: expected where kernels run on {device.name}, got None")
    return device


@dataclass(frozen=True)
class _Challenge:
    where: Device | Apart
    trial: Trial
    place: Place
    plan: Plan
    progress: Callable[[float], None] | None

    def contest(self, record: Record) -> Contest:
        """The record's kernel against the trial's."""
        task = self.trial.entry.task
        older = kernel_of(task.name, record.entry.kernel, record.header, record.source)
        return Contest(
            task,
            older,
            self.trial.kernel,
            names=(RECORD, CHALLENGER),
            dtype=self.place.dtype,
            size=self.place.size,
            plan=replace(self.plan, seed=self.trial.seed),
            tunables=(_known(record.entry.tunables, older), dict(self.trial.tunables)),
            knows_before=True,
            also_sizes=tuple(verify.small_sizes(task)),
        )


def _ruling(challenge: _Challenge, entry: HistoryEntry, record: Record | None) -> Ruling:
    ruling = partial(Ruling, entry.id, challenge.place, record)
    fault = _unfit(entry)
    if fault is not None:
        return ruling(Decision.REFUSED, fault)
    if record is None:
        return ruling(Decision.FIRST, "there was none")
    if _same(entry, record.entry):
        return ruling(Decision.STANDS, "it is this kernel already")
    try:
        wrong = _fault_of(challenge, record)
        if wrong is not None:
            return ruling(Decision.FIRST, f"the one before is wrong by now: {wrong}")
        found = pair(challenge.where, challenge.contest(record), challenge.progress)
    except WrongKernelError as error:
        return ruling(Decision.REFUSED, str(error))
    return ruling(*_decided(found), found.verdict, found.gains)


def _decided(found: Pairings) -> tuple[Decision, str]:
    if found.confirmed:
        return Decision.NEW, "FASTER than the record, and once more"
    again = " the second time" if len(found.measured) > 1 else ""
    return Decision.STANDS, f"{found.verdict.value}{again} in pairs with the record"


def _fault_of(challenge: _Challenge, record: Record) -> str | None:
    """What is wrong with the record's kernel by the task as it is now; None if nothing is."""
    if isinstance(challenge.where, Apart):
        fault = challenge.where.fault(challenge.contest(record))
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


def _unfit(entry: HistoryEntry) -> str | None:
    """Why a result can be no record, whatever the others are; None if it can."""
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


def _same(one: HistoryEntry, other: HistoryEntry) -> bool:
    return one.source_hash == other.source_hash and one.tunables == other.tunables


def _known(tunables: Mapping[str, int], kernel: Kernel) -> dict[str, int]:
    return {name: value for name, value in tunables.items() if name in kernel.tunables}


def _expect_of(
    device: Device | DeviceFacts, trial: Trial, entry: HistoryEntry, place: Place
) -> None:
    """Nobody's result may bring another's kernel in."""
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
