"""Values of a kernel's tunables: those that its header offers, and others that may be worth it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

from metalbench.errors import MachineError
from metalbench.kernel import Kernel
from metalbench.tuning.journal import MOST_IN_TURN, Journal, Space, Values

MOST_THREADS = 1024
FEWEST_THREADS = 32
MOST_ELEMENTS = 64


def read_declared(kernel: Kernel) -> dict[str, tuple[int, ...]]:
    """Return the candidate values of the `// tune:` lines."""
    return {name: tuple(dict.fromkeys(values)) for name, values in kernel.tunables.items()}


def beyond(kernel: Kernel) -> dict[str, tuple[int, ...]]:
    """Return the same with values that the header does not offer, where it tells what a macro is.

    That is a number of threads where `threads=` is the macro alone, and a number of elements where
    it divides a grid. Others keep their values: what is safe for them is not known.
    """
    return {name: _wider(kernel, name, values) for name, values in read_declared(kernel).items()}


def _wider(kernel: Kernel, name: str, values: tuple[int, ...]) -> tuple[int, ...]:
    more: list[int] = []
    if is_thread_count(kernel, name):
        more = [2**power for power in range(5, 11)]
    elif is_element_count(kernel, name):
        more = [max(values) * 2, min(values) // 2]
        more = [each for each in more if 0 < each <= MOST_ELEMENTS]
    return tuple(dict.fromkeys((*values, *more)))


def is_thread_count(kernel: Kernel, name: str) -> bool:
    """Return whether every threadgroup has as many threads as the macro says, in one dimension."""
    return any(
        len(each.threads) == 1 and str(each.threads[0]).strip() == name
        for each in kernel.dispatches
    )


def is_element_count(kernel: Kernel, name: str) -> bool:
    """Return whether a larger macro makes the grid smaller, with equal threadgroups."""
    in_threads = any(name in e.names for each in kernel.dispatches for e in each.threads)
    grids = [
        e for each in kernel.dispatches for e in each.threadgroups or each.threads_in_grid or ()
    ]
    return not in_threads and any(name in each.names for each in grids)


def find_untried(
    space: Mapping[str, Sequence[int]], tried: Mapping[tuple[tuple[str, int], ...], float | None]
) -> Values | None:
    """Return values that have not been tried, None if there are none.

    `tried` has the gain of what was tried, None of what is wrong or not judged yet. Small spaces
    are gone through in an order that looks random, of larger ones Optuna's sampler picks what
    seems best; where it is not installed these are gone through likewise.
    """
    total = math.prod(map(len, space.values()))
    if not space or len(tried) >= total:
        return None
    if total > MOST_IN_TURN:
        try:
            return _sample(space, tried)
        except MachineError:
            pass  # Optuna is an extra
    return _next_in_turn(space, tried)


def key_of(values: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Return values as a key."""
    return tuple(sorted(values.items()))


def _sample(
    space: Mapping[str, Sequence[int]], tried: Mapping[tuple[tuple[str, int], ...], float | None]
) -> Values | None:
    allowed: Space = {name: tuple(values) for name, values in space.items()}
    journal = Journal(None, "agent_steel", allowed, seed=len(tried))
    for values, gain in tried.items():
        journal.add(dict(values), gain)
    trial = journal.next()
    return None if trial is None else dict(trial.params)


def _next_in_turn(
    space: Mapping[str, Sequence[int]], tried: Mapping[tuple[tuple[str, int], ...], float | None]
) -> Values | None:
    """Order choices by distance from tried ones, so that a few cover the space."""
    names = list(space)
    left = [
        values
        for combination in product(*space.values())
        if key_of(values := dict(zip(names, combination, strict=True))) not in tried
    ]

    def nearness(values: Values) -> tuple[int, ...]:
        shared = [sum(values[name] == value for name, value in each) for each in tried]
        return max(shared, default=0), sum(shared)

    return min(left, key=nearness, default=None)
