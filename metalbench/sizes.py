"""Sizes beyond the declared ones: spelled out as `rows=613,cols=77`, or drawn at random."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from metalbench.errors import DeclarationError

if TYPE_CHECKING:
    from metalbench.task import Task

_SPELLED = re.compile(r"\w+=\d+(,\w+=\d+)*")


def spelled(extents: Mapping[str, int]) -> str:
    """The size with these extents, as a name that every task understands."""
    return ",".join(f"{name}={extent}" for name, extent in extents.items())


def is_spelled(size: str) -> bool:
    """Whether `size` spells extents out rather than naming a declared size."""
    return _SPELLED.fullmatch(size) is not None


def read(size: str) -> dict[str, int]:
    """The extents that a spelled size has."""
    pairs = (each.split("=") for each in size.split(","))
    return {name: int(extent) for name, extent in pairs}


def drawn(task: Task, seed: int) -> str:
    """A size drawn at random, spelled out; the same for every run with that `seed`.

    Every name lies between its least and its headline value, evenly on a logarithmic scale, and is
    a multiple of what the task demands; a task with a `draw` of its own has the last word. Raises
    DeclarationError if what comes out is no size of the task.
    """
    key = hashlib.sha256(f"{task.name}/size/{seed}".encode()).digest()
    random = np.random.Generator(np.random.Philox(int.from_bytes(key[:16], "little")))
    if task.draw is not None:
        size = spelled(task.draw(random))
    else:
        size = spelled({name: _between(task, name, random) for name in task.extents(task.headline)})
    try:
        task.check_size(size)
    except DeclarationError as error:
        raise DeclarationError(
            f"{error}; sizes drawn at random must be ones too: say `multiples=dict(name=...)`, or "
            "`draw=` for anything else"
        ) from error
    return size


def _between(task: Task, name: str, random: np.random.Generator) -> int:
    step = task.multiples.get(name, 1)
    least = min(extents[name] for extents in task.sizes.values())
    most = max(task.sizes[task.headline][name], least)
    low, high = math.ceil(least / step), max(most // step, math.ceil(least / step))
    value = math.exp(random.uniform(math.log(low), math.log(high + 1)))
    return step * min(int(value), high)
