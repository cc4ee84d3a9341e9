"""Reproduce a published result on this machine.

It is reproduced if the kernel is correct here and not slower, relative to MLX, than claimed, within
a tolerance: the whole interval of `here / claimed` must lie above `1 - within`. A wide interval
reproduces nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from metalbench.errors import DeclarationError
from metalbench.leaderboard.exported import ExportedRecord
from metalbench.leaderboard.source import restore_kernel
from metalbench.measure import Plan
from metalbench.result.environment import engine_on, environment
from metalbench.run.observed import device_facts
from metalbench.run.runner import Attempts
from metalbench.run.runner import run as run_trials
from metalbench.run.stages import Observer
from metalbench.run.trial import Trial
from metalbench.stats import Interval
from metalbench.stats.apart import UNREPEATED, assess_unpaired
from metalbench.store import HistoryEntry, Store

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.kernel.library import Entry
    from metalbench.result.environment import Environment

WITHIN = 0.1


class ReproductionVerdict(str, Enum):
    """The verdict of a reproduction."""

    REPRODUCED = "REPRODUCED"
    NOT_REPRODUCED = "NOT REPRODUCED"
    NOT_COMPARABLE = "NOT COMPARABLE"


@dataclass(frozen=True)
class Reproduction:
    """The verdict with its reason; `relative` is the claim over the result here, if it was run.

    Above 1 the kernel does better here. `here` and `claimed` are ratios to MLX, or times in ns
    without a ratio (`by_time`).
    """

    word: ReproductionVerdict
    why: str
    relative: Interval | None = None
    here: Interval | None = None
    claimed: Interval | None = None
    by_time: bool = False


def list_obstacles(
    found: ExportedRecord, device: Device, here: Environment, entry: Entry | None
) -> Iterator[str]:
    """Yield the reasons why a result is not comparable with one of this machine."""
    facts, there = device_facts(device), found.machine
    pairs = (
        ("device", (there.kind, there.name), (facts.kind, facts.name)),
        ("number of cores", (str(there.cores),), (str(facts.cores),)),
        ("chip", (str(there.chip),), (str(facts.chip),)),
        ("engine", (there.engine,), (engine_on(facts.kind),)),
        ("version of MLX", (str(there.mlx),), (str(here.versions.get("mlx")),)),
    )
    for what, theirs, ours in pairs:
        if theirs != ours:
            yield f"another {what}: {' '.join(theirs)} there, {' '.join(ours)} here"
    if entry is None:
        yield f"no task {found.task!r} here; name its folder with --kernels"
        return
    try:
        extents = dict(entry.task.extents(found.size))
        entry.task.check_dtype(found.dtype)
    except DeclarationError as error:
        yield f"another task: {error}"
        return
    if extents != dict(found.sizes):
        yield f"another task: {found.size} is {found.sizes} there, {extents} here"


def build_trial(found: ExportedRecord, entry: Entry, plan: Plan, seed: int = 0) -> Trial:
    """Return the trial of an exported kernel; raises DeclarationError if its header is wrong."""
    kernel = restore_kernel(found.task, found.kernel, found.header, found.source)
    known = {name: value for name, value in found.tunables.items() if name in kernel.tunables}
    return Trial(entry, kernel, found.dtype, found.size, seed, plan, known)


def reproduce(
    device: Device,
    store: Store,
    found: ExportedRecord,
    trial: Trial,
    *,
    observer: Observer,
    attempts: AbstractContextManager[Attempts] | None = None,
    within: float = WITHIN,
) -> Reproduction:
    """Run an exported kernel, store its result, and judge the claim by it.

    Raises
    ------
    DeclarationError
        If it cannot be run here.
    KeyboardInterrupt
        If it was interrupted.
    """
    outcome = run_trials(
        device,
        [trial],
        store,
        environment(),
        observer,
        recorded_options={"origin": "reproduce", "names": [found.task], "sha256": found.sha256},
        attempts=attempts,
    )
    if outcome.ended == "interrupted":
        raise KeyboardInterrupt
    if outcome.untried or outcome.number is None:
        raise DeclarationError("; ".join(outcome.untried))
    (entry,) = store.results(outcome.number)
    if entry.status != "correct":
        said = "; ".join(each.message for each in outcome.results[0].failures)
        return Reproduction(
            ReproductionVerdict.NOT_REPRODUCED, f"here the kernel {_fate(entry)}: {said}"
        )
    return judge_claim(found, entry, within)


def _fate(entry: HistoryEntry) -> str:
    return "has failed" if entry.status == "failed" else "is incorrect"


def judge_claim(found: ExportedRecord, entry: HistoryEntry, within: float) -> Reproduction:
    """Judge a claim by a correct result of this machine."""
    if found.clock != entry.clock:
        why = f"another clock: {found.clock} there, {entry.clock} here"
        return Reproduction(ReproductionVerdict.NOT_COMPARABLE, why)
    by_time = found.ratio is None or entry.ratio is None
    if by_time:
        assert entry.kernel_ns is not None
        here, claimed = entry.gpu_ns or entry.kernel_ns, (found.gpu_ns or found.kernel_ns).interval
        relative = assess_unpaired(claimed, here, between=UNREPEATED).ratio
    else:
        assert found.ratio is not None
        assert entry.ratio is not None
        here, claimed = entry.ratio, found.ratio.interval
        relative = assess_unpaired(here, claimed, between=UNREPEATED).ratio
    least = 1.0 - within
    if relative.is_bounded and relative.low >= least:
        word, why = ReproductionVerdict.REPRODUCED, f"no more than {within:.0%} behind the claim"
    elif relative.is_bounded and relative.high < least:
        word, why = ReproductionVerdict.NOT_REPRODUCED, f"more than {within:.0%} behind the claim"
    else:
        word = ReproductionVerdict.NOT_REPRODUCED
        why = (
            f"the interval does not exclude more than {within:.0%} behind the claim; measure longer"
        )
    return Reproduction(word, why, relative, here, claimed, by_time)
