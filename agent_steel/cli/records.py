"""``agent_steel --record``: a winner becomes the record of its task where nothing is faster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_steel.device_lock import DeviceLock
    from agent_steel.loop import LoopResult, SearchResult
    from metalbench.cli.machine import Machine
    from metalbench.leaderboard import Ruling
    from metalbench.store import Store

ORIGIN = "agent_steel"
# As long as `metalbench run` takes, however short the candidates were timed.
SECONDS = 2.0


def enter_records(
    machine: Machine, store: Store, ended: LoopResult, lock: DeviceLock, options: Mapping[str, Any]
) -> Iterator[Ruling]:
    """Let the best version of every kernel that was made faster enter the leaderboard.

    Each is run once more as by `metalbench run`, in a separate process, and in pairs with an
    existing record.
    """
    for each in ended.searches:
        if each.improved:
            with lock.hold():
                yield _ruling(machine, store, each, options)


def _ruling(
    machine: Machine, store: Store, winner: SearchResult, options: Mapping[str, Any]
) -> Ruling:
    from metalbench.leaderboard import submit
    from metalbench.measure import Plan
    from metalbench.run.trial import Trial

    subject, best = winner.subject, winner.best
    trial = Trial(
        subject.entry,
        subject.kernel_of(best),
        subject.dtype,
        subject.size,
        seed=options["seed"],
        plan=Plan(seconds=max(options["seconds"], SECONDS)),
        tunables=best.tunables,
    )
    return submit(
        machine.device,
        store,
        trial,
        origin=ORIGIN,
        attempts=machine.attempts,
        site=machine.site,
        here=machine.environment,
    )
