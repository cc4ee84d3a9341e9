"""One attempt at a kernel, from the proposal to its final status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from agent_steel.usage import Usage
from metalbench.stats import Interval


class Status(str, Enum):
    """The status of an attempt. Only attempts that are confirmed to be better are kept."""

    BASELINE = "baseline"  # the first kernel of the lineage
    KEPT = "kept"  # better than its rival, and confirmed with new seeds
    REVERTED = "reverted"  # correct, but not (or not confirmed to be) better
    WRONG = "wrong"  # not correct
    BROKEN = "broken"  # does not compile, bind or end
    UNUSABLE = "unusable"  # no answer that can be read came from the proposer
    REPEATED = "repeated"  # the same source was tried before
    PENDING = "pending"  # proposed, not judged yet


@dataclass(frozen=True)
class Attempt:
    """A version of a kernel. `parent` is the number of the attempt that it was derived from.

    `source_key` is a hash of the source without comments and spacing, and of the tunables. Equal
    keys mean equal attempts. `ratio` is the rival's time divided by this attempt's, in pairs.
    `steadiness` is the scatter of the rival's times divided by this attempt's. `rival` is the best
    attempt at the time of the judgement; None means the parent. The device was reserved between
    `measured_from` and `measured_to`, in seconds of a clock shared by all processes. Times are ISO
    8601 in UTC. `wording` is the diagnosis as the proposer phrased it.
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
    status: Status = Status.PENDING
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
