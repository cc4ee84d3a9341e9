"""The best versions of a task that the store has of other devices, sizes and element types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from agent_steel.history.lineage import Lineage
from agent_steel.proposal import KnownVersion
from metalbench.report import numbers
from metalbench.store.result import format_tunables

if TYPE_CHECKING:
    from agent_steel.attempt import Attempt
    from agent_steel.history.history import History, Place

MOST_RECORDS, MOST_PLACES = 2, 6
MOST_VERSIONS = 2
LONGEST_PROSE = 600


def find_known_versions(history: History, place: Place) -> tuple[KnownVersion, ...]:
    """Return records of the leaderboard, and the best attempts of other histories of the task.

    The attempts with the largest gains come first. Histories without a gain are left out.
    """
    records = islice(_list_records(history, place), MOST_RECORDS)
    return (*records, *islice(_list_versions(history, place), MOST_VERSIONS))


def _list_records(history: History, place: Place) -> Iterator[KnownVersion]:
    for each in history.records_of(place.task):
        entry = each.entry
        time = numbers.time(entry.kernel_ns) if entry.kernel_ns is not None else "an unknown time"
        about = f"The record of {each.place}: {time}"
        if entry.ratio is not None:
            about += f", {entry.ratio.value:.3g} times as fast as MLX"
        prose = " ".join(line.strip("/ ") for line in each.header.splitlines())
        how = f" {prose[:LONGEST_PROSE]}" if prose else ""
        # Its source has no includes, so that its differences to a kernel say little.
        yield KnownVersion(f"{about}{_with_values(entry.tunables)}.{how}", "")


def _list_versions(history: History, place: Place) -> Iterator[KnownVersion]:
    """Yield the best attempt of each other history, the one with the largest gain first."""
    found = []
    others = (each for each in history.places_of(place.task) if each != place)
    for each in islice(others, MOST_PLACES):
        lineage = Lineage(history.attempts(each))
        standing = [best for root in lineage.roots() for best in lineage.standing(root)[:1]]
        best = max(standing, key=lineage.gain, default=None)
        if best is not None and best.parent is not None and lineage.gain(best) > 1:
            found.append((lineage.gain(best), each, best, _list_techniques(lineage, best)))
    for gain, where, best, techniques in sorted(found, key=lambda each: -each[0]):
        how = "predicted for" if where.is_predicted else "on"
        about = (
            f"Of {where.dtype}, size {where.size}, {how} {where.device_name}, the best is "
            f"{gain:.3g} times as fast as its first version: {', then '.join(techniques)}"
            f"{_with_values(best.tunables)}."
        )
        yield KnownVersion(about, best.source)


def _list_techniques(lineage: Lineage, best: Attempt) -> list[str]:
    """Return the names of the ideas that led to an attempt, the first one first."""
    chain = []
    attempt: Attempt | None = best
    while attempt is not None and (rival := lineage.rival(attempt)) is not None:
        chain.append(attempt.technique or "an idea without a name")
        attempt = rival
    return chain[::-1]


def _with_values(tunables: Mapping[str, int]) -> str:
    return f" (with {format_tunables(tunables)})" if tunables else ""
