"""Certify a kernel: a fresh measurement against the record or the library's kernel."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from metalbench import verify
from metalbench.comparison.head_to_head import Contest
from metalbench.errors import DeclarationError
from metalbench.kernel.device_defaults import TargetDevice
from metalbench.kernel.library import Library
from metalbench.leaderboard.exported import ExportedRecord, export_result
from metalbench.leaderboard.pairing import Site, pair
from metalbench.leaderboard.rule import PAIRING_S, RECORD, Decision, Ruling, choose_site, submit
from metalbench.measure import Plan
from metalbench.result import DeviceFacts
from metalbench.result.environment import Environment
from metalbench.run.runner import Attempts
from metalbench.run.stages import Observer
from metalbench.run.trial import Trial
from metalbench.stats import Interval, Verdict
from metalbench.store import HistoryEntry, Store

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.kernel import Kernel

ORIGIN = "certify"


@dataclass(frozen=True)
class Certificate:
    """The measurement of a kernel and its opponent; `record` is the file, None if it is incorrect.

    `against` is the name of the kernel that it was compared with in pairs, if any. `verdict` and
    `gains` (the other's time over this one's) are of that comparison.
    """

    trial: Trial
    entry: HistoryEntry
    ruling: Ruling
    record: ExportedRecord | None
    against: str = ""
    verdict: Verdict | None = None
    gains: tuple[Interval, ...] = ()

    @property
    def is_correct(self) -> bool:
        """Whether the kernel is correct."""
        return self.entry.status == "correct"


def certify(
    device: Device | DeviceFacts,
    store: Store,
    trial: Trial,
    *,
    observer: Observer,
    attempts: AbstractContextManager[Attempts] | None = None,
    site: Site | None = None,
    here: Environment | None = None,
    plan: Plan | None = None,
    progress: Callable[[float], None] | None = None,
) -> Certificate:
    """Measure a kernel against the record, or without a record against the library's version.

    It becomes the record if it qualifies. Raises as `metalbench.leaderboard.submit`.
    """
    ruling = submit(
        device,
        store,
        trial,
        origin=ORIGIN,
        observer=observer,
        attempts=attempts,
        site=site,
        here=here,
        plan=plan,
        progress=progress,
    )
    entry = store.result(ruling.result)
    record = None
    if entry.status == "correct":
        record = export_result(store, entry.id, trial.kernel.text, trial.kernel.source)
    made = Certificate(trial, entry, ruling, record)
    if ruling.gains:
        return replace(made, against=RECORD, verdict=ruling.verdict, gains=ruling.gains)
    own = _own_version(trial, device) if made.is_correct else None
    if own is None or ruling.decision is not Decision.FIRST:
        return made
    contest = _contest(made, own, plan or Plan(seconds=PAIRING_S))
    found = pair(choose_site(device, trial, site), contest, progress)
    return replace(made, against=contest.names[0], verdict=found.verdict, gains=found.gains)


def _contest(made: Certificate, own: Kernel, plan: Plan) -> Contest:
    """Return the contest of the library's version with the certified kernel."""
    trial = made.trial
    return Contest(
        trial.entry.task,
        own,
        trial.kernel,
        names=("the library's own version", "this one"),
        dtype=made.entry.dtype,
        size=made.entry.size,
        plan=replace(plan, seed=trial.seed),
        tunables=({}, dict(trial.tunables)),
        also_sizes=tuple(verify.small_sizes(trial.entry.task)),
    )


def _own_version(trial: Trial, device: TargetDevice) -> Kernel | None:
    """Return the library's kernel for the task and type, if it has a different one."""
    try:
        own = Library().entry(trial.entry.name).kernel(device)
    except DeclarationError:
        return None
    return own if own.hash != trial.kernel.hash and trial.dtype in own.dtypes else None
