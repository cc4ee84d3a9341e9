"""What a plan holds at one time, and whether the machine has that."""

from __future__ import annotations

from collections.abc import Iterable

from metalbench.errors import OutOfMemoryError
from metalbench.hlo.graph import Value
from metalbench.hlo.running.plan import ExecutionPlan


def compute_live_bytes(made: ExecutionPlan) -> int:
    """Return the most bytes that are held at one time while a plan runs."""
    return _find_peak(made)[0]


def check_memory(made: ExecutionPlan, limit_bytes: int) -> None:
    """Raise OutOfMemoryError, which names the operation, if a plan holds more than that.

    Linux promises memory that it does not have, and ends the process that touches it.
    """
    most, where = _find_peak(made)
    if most > limit_bytes:
        raise OutOfMemoryError(
            f"{where}: expected at most {limit_bytes} bytes to be held at one time, the memory of "
            f"this machine, got {most}; take smaller sizes or a device with more memory"
        )


def _find_peak(made: ExecutionPlan) -> tuple[int, str]:
    """Return the most bytes that are held at one time, and where errors say that this is."""
    held = dict.fromkeys([*made.block.arguments, *(each.results[0] for each in made.constants)])
    found = _sum_bytes(held), "[hlo] arguments and constants"
    if made.constants:
        largest = max(made.constants, key=lambda each: each.results[0].type.nbytes)
        found = found[0], largest.where
    for step in made.steps:
        held.update(dict.fromkeys(step.operation.results))
        before = _sum_bytes(held)
        inside = max(map(_find_peak, step.plans), default=(0, step.operation.where))
        # What a region captures is counted where it is made.
        found = max(found, (before + inside[0], inside[1]), key=lambda each: each[0])
        for value in step.last_of:
            if value in made.temporary:
                held.pop(value, None)
    return found


def _sum_bytes(values: Iterable[Value]) -> int:
    return sum(each.type.nbytes for each in values)
