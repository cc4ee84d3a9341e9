"""What answers cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from metalbench.measure.analysis import Target
from metalbench.stats import MARGIN, Interval, Judgement, Verdict, spread_ratio

__all__ = [
    "OF_SCATTER",
    "TARGET_DESCRIPTIONS",
    "Target",
    "may_be_better",
    "merit",
    "misses",
    "shortfall",
    "spread_ratio",
]


@dataclass(frozen=True)
class Usage:
    """The cost of requests. `cost` is in US dollars, None without a known price."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    requests: int = 0

    def __add__(self, other: Usage) -> Usage:
        known = self.cost is not None and other.cost is not None
        return Usage(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.cost + other.cost if known else None,  # type: ignore[operator]
            self.requests + other.requests,
        )


# One attempt at a kernel, from the proposal to its final status.


class Status(str, Enum):
    """The status of an attempt. Only attempts that are confirmed to be better are kept."""

    BASELINE = "baseline"  # the first kernel of the lineage
    KEPT = "kept"  # better than its rival, and confirmed with new seeds
    REVERTED = "reverted"  # correct, but not (or not confirmed to be) better
    UNDECIDED = "undecided"  # correct, but INCONCLUSIVE so far; measured again in this session
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

    With several objectives `objectives` has the ratio of each by name, and `ratio` is their
    geometric mean. `island` is that of a population, and `crossed` the number of the second parent.
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
    objectives: Mapping[str, Interval] = field(default_factory=dict)
    island: int | None = None
    crossed: int | None = None


# Targets of the optimisation: their descriptions, and the rule for a better candidate.
#
# A task's operations and bytes are the same whatever kernel does them, so that more GFLOP/s or GB/s
# is less time and nothing else. COMPUTE and MEMORY therefore choose what is worked on, kernels for
# which that roof is the nearer one, and keep what is FASTER, as SPEED does.

# Smaller differences of the scatter are irrelevant in practice.
STEADIER = 0.1
TARGET_DESCRIPTIONS = {
    Target.SPEED: "time",
    Target.COMPUTE: "time, of a kernel that arithmetic bounds: GFLOP/s",
    Target.MEMORY: "time, of a kernel that memory bounds: GB/s",
    Target.STABLE: "a time that varies less, and is not longer",
    Target.BALANCED: "time, and that it varies less: neither at the other's expense",
}
# Those for which the scatter counts, so that it has to be known as well as the time.
OF_SCATTER = frozenset({Target.STABLE, Target.BALANCED})


def shortfall(
    target: Target, verdict: Verdict | None, ratio: Interval | None, steadiness: Interval | None
) -> str:
    """Return why a candidate is not better than its rival; '' if it is better.

    `ratio` is the rival's time over the candidate's, with its verdict, and `steadiness` how many
    times as far the rival's times scatter.
    """
    faster = verdict is Verdict.FASTER
    if target in OF_SCATTER:
        steadier, less_steady = _compare_steadiness(steadiness)
        if target is Target.BALANCED and faster:
            return "FASTER, but less steady" if less_steady else ""
        if not steadier:
            said = verdict.value if verdict else "no verdict"
            wanted = "neither FASTER nor" if target is Target.BALANCED else "not"
            return f"{said}, {wanted} steadier"
        return "" if _not_slower(ratio) else "steadier, but it may be slower"
    if faster:
        return ""
    return f"{verdict.value if verdict else 'no verdict'}, not FASTER"


def may_be_better(
    target: Target,
    verdict: Verdict | None,
    judgement: Judgement | None,
    steadiness: Interval | None,
) -> bool:
    """Return whether a longer measurement may call a candidate better than its rival.

    The verdict gives no answer, and the interval does not exclude that the candidate is faster. An
    interval counts only where it decides alone: with drift or several modes it may be elsewhere.
    """
    if verdict not in (Verdict.INCONCLUSIVE, Verdict.THROTTLED):
        return False
    if target in OF_SCATTER and _compare_steadiness(steadiness)[0]:
        return True
    if target is Target.STABLE:
        return False
    if judgement is None or not judgement.is_decided_by_interval:
        return True
    return not judgement.ratio.is_bounded or judgement.ratio.high > 1.0 + MARGIN


def merit(target: Target, ratio: Interval | None, steadiness: Interval | None) -> float:
    """Return how many times as good as its rival an attempt is by its target.

    Of time the estimate counts, which pairs have confirmed; of steadiness what is beyond chance.
    """
    time = 1.0 if ratio is None else ratio.value
    if target not in OF_SCATTER:
        return time
    steady = (
        steadiness.value if steadiness is not None and any(_compare_steadiness(steadiness)) else 1.0
    )
    if target is Target.STABLE:
        return steady
    return steady * (1.0 if ratio is None or ratio.low <= 1.0 <= ratio.high else time)


def misses(target: Target, bound: str) -> str:
    """Return why a kernel with this bottleneck does not suit a target; '' if it does."""
    if target not in (Target.COMPUTE, Target.MEMORY) or bound in (target.value, "unknown"):
        return ""
    of = {"compute": "arithmetic", "memory": "memory", "launch": "the launch"}
    return f"{of[bound]} bounds it, and --target {target.value} is for others"


def _compare_steadiness(steadiness: Interval | None) -> tuple[bool, bool]:
    """Return whether a candidate is significantly steadier, and whether less steady."""
    if steadiness is None or not steadiness.is_bounded:
        return False, False
    return steadiness.low > 1.0 + STEADIER, steadiness.high < 1.0 / (1.0 + STEADIER)


def _not_slower(ratio: Interval | None) -> bool:
    return ratio is not None and ratio.is_bounded and ratio.low >= 1.0 - MARGIN
