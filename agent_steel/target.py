"""Targets of the optimisation: their descriptions, and the rule for a better candidate.

A task's operations and bytes are the same whatever kernel does them, so that more GFLOP/s or GB/s
is less time and nothing else. COMPUTE and MEMORY therefore choose what is worked on, kernels for
which that roof is the nearer one, and keep what is FASTER, as SPEED does.
"""

from __future__ import annotations

from metalbench.analysis.targets import Target
from metalbench.stats import MARGIN, Interval, Verdict, spread_ratio

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
__all__ = [
    "OF_SCATTER",
    "TARGET_DESCRIPTIONS",
    "Target",
    "merit",
    "misses",
    "shortfall",
    "spread_ratio",
]


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
