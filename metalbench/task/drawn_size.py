"""Random sizes. No candidate can be written for them in advance."""

from __future__ import annotations

import hashlib
import math

import numpy as np

from metalbench.errors import DeclarationError
from metalbench.task.declaration import Task
from metalbench.task.sizes import spell_size


def draw_size(task: Task, seed: int, *, upto: str | None = None) -> str:
    """Return a random size, spelled out. The same `seed` gives the same size.

    Every name is log-uniform between its least value and that of the size `upto` (by default the
    headline), and a multiple of `Task.multiples`. `Task.draw` replaces this rule. Raise
    DeclarationError for a result that is not a valid size of the task.
    """
    key = hashlib.sha256(f"{task.name}/size/{seed}".encode()).digest()
    random = np.random.Generator(np.random.Philox(int.from_bytes(key[:16], "little")))
    if task.draw is not None:
        size = spell_size(task.draw(random))
    else:
        most = task.extents(upto or task.headline)
        size = spell_size({name: _between(task, name, most[name], random) for name in most})
    try:
        task.check_size(size)
    except DeclarationError as error:
        raise DeclarationError(
            f"{error}; sizes drawn at random must be ones too: say `multiples=dict(name=...)`, or "
            "`draw=` for anything else"
        ) from error
    return size


def _between(task: Task, name: str, most: int, random: np.random.Generator) -> int:
    step = task.multiples.get(name, 1)
    least = min(extents[name] for extents in task.sizes.values())
    most = max(most, least)
    low, high = math.ceil(least / step), max(most // step, math.ceil(least / step))
    value = math.exp(random.uniform(math.log(low), math.log(high + 1)))
    return step * min(int(value), high)
