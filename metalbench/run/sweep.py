"""Sweeps: sizes of a task in which some extents take several values."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from metalbench.errors import DeclarationError, suggestion
from metalbench.task import Task
from metalbench.task.declaration import spell_size

# A longer sweep is more likely a mistake than a wish.
MOST_POINTS = 256
_RANGE = re.compile(r"(\d+):(\d+):([*+])(\d+)")
_LIST = re.compile(r"\d+(?:,\d+)*")


@dataclass(frozen=True)
class SweepAxis:
    """The values of one extent, in ascending order."""

    name: str
    values: tuple[int, ...]

    @property
    def is_geometric(self) -> bool:
        """Whether the values span more than a factor of eight, so that logarithms suit them."""
        return self.values[-1] > 8 * self.values[0]


def parse_axis(text: str) -> SweepAxis:
    """Read ``cols=256:8192:*2``, ``n=1000:5000:+1000`` or ``k=1,2,8``; the ends are included.

    Raise DeclarationError for other text, and for more than `MOST_POINTS` values.
    """
    name, _, given = text.partition("=")
    span, listed = _RANGE.fullmatch(given), _LIST.fullmatch(given)
    if not name.isidentifier() or not (span or listed):
        raise DeclarationError(
            f"expected NAME=FIRST:LAST:*FACTOR, NAME=FIRST:LAST:+STEP or NAME=1,2,8, got {text!r}"
        )
    if span is None:
        values = sorted({int(each) for each in given.split(",")})
    else:
        first, last, step = int(span[1]), int(span[2]), int(span[4])
        grows = step > 1 if span[3] == "*" else step > 0
        if not 1 <= first <= last or not grows:
            raise DeclarationError(
                f"{text}: expected 1 <= FIRST <= LAST, and a FACTOR of 2 or more or a STEP of 1 or "
                "more"
            )
        values = []
        while first <= last and len(values) <= MOST_POINTS:
            values.append(first)
            first = first * step if span[3] == "*" else first + step
    if values[0] < 1 or len(values) > MOST_POINTS:
        raise DeclarationError(
            f"{text}: expected 1 to {MOST_POINTS} values of 1 or more, got {len(values)} from "
            f"{values[0]}"
        )
    return SweepAxis(name, tuple(values))


def list_sizes(task: Task, base: str, axes: Sequence[SweepAxis]) -> list[str]:
    """Return the spelled sizes of a sweep: the size `base` with every combination of the values.

    Raise DeclarationError for an unknown or repeated extent, for too many sizes, and for a size
    that the task cannot have.
    """
    extents = dict(task.extents(base))
    for each in axes:
        if each.name not in extents:
            raise DeclarationError(
                f"[{task.name}] no extent {each.name!r}; {suggestion(each.name, extents)}"
            )
    names = [each.name for each in axes]
    if len(set(names)) != len(names):
        raise DeclarationError(f"expected each extent once, got {', '.join(names)}")
    count = math.prod(len(each.values) for each in axes)
    if count > MOST_POINTS:
        raise DeclarationError(f"expected at most {MOST_POINTS} sizes, got {count}")
    points = product(*(each.values for each in axes))
    sizes = [spell_size({**extents, **dict(zip(names, point, strict=True))}) for point in points]
    for size in sizes:
        task.check_size(size)
    return sizes
