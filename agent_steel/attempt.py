"""One attempt at a kernel, from the proposal to what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from agent_steel.usage import Usage
from metalbench.stats import Interval


class Fate(str, Enum):
    """What became of an attempt. Only what is confirmed to be better by the target is kept."""

    BASELINE = "baseline"  # the kernel that the lineage began with
    KEPT = "kept"  # better than its rival, and confirmed with new seeds
    REVERTED = "reverted"  # correct, but not (or not confirmed to be) better
    WRONG = "wrong"  # not correct
    BROKEN = "broken"  # does not compile, bind or end
    UNUSABLE = "unusable"  # no answer that can be read came from the proposer
    REPEATED = "repeated"  # the same source was tried before
    PENDING = "pending"  # proposed, not judged yet


@dataclass(frozen=True)
class Attempt:
    """A version of a kernel. `parent` is the number of the attempt that it was made from.

    `source_key` is a hash of the source without comments and spacing, and of the tunables: attempts
    with the same one are the same. `ratio` is the rival's time over this one's, in pairs, and
    `steadiness` how many times as far the rival's times scatter; `rival` is the attempt that was
    the best when this one was judged, None where that was its parent.
    `measured_from` and `measured_to` are instants of the same clock in every process, in seconds,
    between which the device was its own. Times are ISO 8601 in UTC. `wording` is the diagnosis in
    the proposer's own words.
    """

    number: int
    session: int
    task: str
    dtype: str
    size: str
    parent: int | None
    round: int
    source: str
    source_key: str
    tunables: Mapping[str, int] = field(default_factory=dict)
    fate: Fate = Fate.PENDING
    diagnosis: str = ""
    summary: str = ""
    technique: str = ""
    proposer: str = ""
    model: str = ""
    ratio: Interval | None = None
    steadiness: Interval | None = None
    error: str = ""
    usage: Usage = field(default_factory=Usage)
    proposed_at: str = ""
    judged_at: str = ""
    measured_from: float | None = None
    measured_to: float | None = None
    rival: int | None = None
    wording: str = ""
