"""Compute the peak memory of a plan, and compare it with the memory of the machine."""

from __future__ import annotations

from collections.abc import Iterable

from metalbench.errors import OutOfMemoryError
from metalbench.hlo.graph import Value
from metalbench.hlo.running.plan import ExecutionPlan


def compute_live_bytes(plan: ExecutionPlan) -> int:
    """Return the peak of live buffer bytes while a plan runs."""
    return _find_peak(plan)[0]


def check_memory(plan: ExecutionPlan, limit_bytes: int) -> None:
    """Raise OutOfMemoryError with the operation's name if the peak exceeds `limit_bytes`.

    Linux overcommits memory, and ends a process that touches pages it cannot back.
    """
    most, where = _find_peak(plan)
    if most > limit_bytes:
        raise OutOfMemoryError(
            f"{where}: expected at most {limit_bytes} bytes of live buffers, the memory of this "
            f"machine, got {most}; use smaller sizes or a device with more memory"
        )


def _find_peak(plan: ExecutionPlan) -> tuple[int, str]:
    """Return the peak of live buffer bytes, and the beginning of an error message about it."""
    live = dict.fromkeys([*plan.block.arguments, *(each.results[0] for each in plan.constants)])
    found = _sum_bytes(live), "[hlo] arguments and constants"
    if plan.constants:
        largest = max(plan.constants, key=lambda each: each.results[0].type.nbytes)
        found = found[0], largest.where
    for step in plan.steps:
        live.update(dict.fromkeys(step.operation.results))
        before = _sum_bytes(live)
        inside = max(map(_find_peak, step.plans), default=(0, step.operation.where))
        # A captured value counts in the block that defines it.
        found = max(found, (before + inside[0], inside[1]), key=lambda each: each[0])
        for value in step.last_uses:
            if value in plan.temporary:
                live.pop(value, None)
    return found


def _sum_bytes(values: Iterable[Value]) -> int:
    return sum(each.type.nbytes for each in values)
