"""What a kernel is to become better at: what proposers are told, and when a candidate is better.

A task's operations and bytes are the same whatever kernel does them, so that more GFLOP/s or GB/s
is less time and nothing else. COMPUTE and MEMORY therefore choose what is worked on, kernels for
which that roof is the nearer one, and keep what is FASTER, as SPEED does.
"""

from __future__ import annotations

from metalbench.analysis.targets import Target
from metalbench.stats import MARGIN, Interval, Verdict, spread_ratio

# A scatter that differs by less is of no use to anybody.
STEADIER = 0.1
TOLD = {
    Target.SPEED: "time",
    Target.COMPUTE: "time, of a kernel that arithmetic bounds: GFLOP/s",
    Target.MEMORY: "time, of a kernel that memory bounds: GB/s",
    Target.STABLE: "a time that varies less, and is not longer",
    Target.BALANCED: "time, and that it varies less: neither at the other's expense",
}
# Those for which the scatter counts, so that it has to be known as well as the time.
OF_SCATTER = frozenset({Target.STABLE, Target.BALANCED})
__all__ = ["OF_SCATTER", "TOLD", "Target", "merit", "misses", "shortfall", "spread_ratio"]


def shortfall(
    target: Target, verdict: Verdict | None, ratio: Interval | None, steadiness: Interval | None
) -> str:
    """Why a candidate is not better than its rival by what was measured; '' if it is.

    `ratio` is the rival's time over the candidate's, with its verdict, and `steadiness` how many
    times as far the rival's times scatter.
    """
    faster = verdict is Verdict.FASTER
    if target in OF_SCATTER:
        steadier, less_steady = _proven(steadiness)
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
    steady = steadiness.value if steadiness is not None and any(_proven(steadiness)) else 1.0
    if target is Target.STABLE:
        return steady
    return steady * (1.0 if ratio is None or ratio.low <= 1.0 <= ratio.high else time)


def misses(target: Target, bound: str) -> str:
    """Why a kernel that `bound` holds back is nothing for a target; '' if it is."""
    if target not in (Target.COMPUTE, Target.MEMORY) or bound in (target.value, "unknown"):
        return ""
    of = {"compute": "arithmetic", "memory": "memory", "launch": "the launch"}
    return f"{of[bound]} bounds it, and --target {target.value} is for others"


def _proven(steadiness: Interval | None) -> tuple[bool, bool]:
    """Whether a candidate is steadier, and whether it is less steady, beyond chance."""
    if steadiness is None or not steadiness.is_bounded:
        return False, False
    return steadiness.low > 1.0 + STEADIER, steadiness.high < 1.0 / (1.0 + STEADIER)


def _not_slower(ratio: Interval | None) -> bool:
    return ratio is not None and ratio.is_bounded and ratio.low >= 1.0 - MARGIN
