"""Proposals without a model: values of tunables, and recipes of transformations with values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from threading import Lock

from agent_steel.attempt import Attempt, Status
from agent_steel.history.lineage import Lineage
from agent_steel.proposal import Brief, Progress, Proposal, Usage
from agent_steel.source import source_key, with_source
from agent_steel.tuning.joint import JointSpace, gains_of
from metalbench.errors import DeclarationError, MachineError
from metalbench.kernel.header import Kernel
from metalbench.store.result import format_tunables
from metalbench.tune.search import MOST_IN_TURN, Journal, Space, Values

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


# The proposer that needs no model: values of tunables, and transformations known to be safe.

Key = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class _Idea:
    """A version that may be the next one."""

    source: str
    tunables: dict[str, int]
    technique: str
    summary: str


class Tuner:
    """Tries what the kernel's header offers, then what may be changed without changing results.

    In this order: the first version's own values, recipes of transformations together with values
    of their tunables, values beyond the header's. What is in the history is not proposed again, nor
    what was proposed before.
    """

    name = "tuner"
    model = ""
    usage = Usage()
    # It costs nothing to ask for more, and the best of several is a better parent.
    candidates = 4

    def __init__(self) -> None:
        self._given: set[tuple[str, str, str, str]] = set()
        self._spaces: dict[tuple[str, str, str], JointSpace] = {}
        self._lock = Lock()

    def propose(self, brief: Brief, say: Progress) -> Proposal | None:
        """Return the next version; None if nothing is left to try."""
        with self._lock:
            for idea in self._ideas(brief):
                if self._is_new(brief, idea):
                    return Proposal(idea.source, idea.summary, idea.technique, idea.tunables)
        return None

    def _ideas(self, brief: Brief) -> Iterator[_Idea]:
        root = self._root(brief)
        if brief.parent.source == root:
            yield from self._tunings(brief, "tunables", read_declared(brief.kernel))
        yield from self._recipes(brief, root)
        if brief.parent.source != root:
            yield from self._tunings(brief, "tunables", read_declared(brief.kernel))
            # A version that no recipe leads to has recipes, too.
            yield from self._recipes(brief, brief.parent.source)
        yield from self._tunings(brief, "tunables beyond the header's", beyond(brief.kernel))

    @staticmethod
    def _root(brief: Brief) -> str:
        """Return the text that the lineage of the parent begins with."""
        lineage = Lineage(brief.attempts, brief.target)
        known = lineage.attempts.get(brief.parent.number)
        return brief.parent.source if known is None else lineage.root(known).source

    def _tunings(
        self, brief: Brief, technique: str, space: dict[str, tuple[int, ...]]
    ) -> Iterator[_Idea]:
        tried = self._collect_tried(brief, space)
        while (values := find_untried(space, tried)) is not None:
            yield _Idea(
                brief.parent.source,
                values,
                technique,
                f"The same text with {format_tunables(values)}. "
                "Geometry and code change together, so that "
                "only measuring tells which values suit the device.",
            )
            tried[key_of(values)] = None

    def _recipes(self, brief: Brief, start: str) -> Iterator[_Idea]:
        """Yield points of the joint space of recipes and values that begins with a text."""
        space = self._space(brief, start)
        if len(space.recipes) == 1:
            return
        lineage = Lineage(brief.attempts, brief.target)
        known = [
            (each.source, self._values(space, each), _gain(lineage, each))
            for each in lineage.attempts.values()
            if space.find(each.source) is not None and each.status is not Status.PENDING
        ]
        tried = gains_of(space, known)
        tried.setdefault(space.defaults(0).key, 1.0)
        while (point := space.suggest(tried)) is not None:
            recipe = space.recipes[point.recipe]
            defaults = space.defaults(point.recipe)
            values = {
                name: value
                for name, value in point.values.items()
                if defaults.values.get(name) != value
            }
            said = f" Here with {format_tunables(values)}." if values else ""
            technique = recipe.technique or "tunables"
            yield _Idea(recipe.source, values, technique, f"{recipe.summary}{said}".strip())
            tried[point.key] = None

    def _space(self, brief: Brief, start: str) -> JointSpace:
        bound = brief.diagnosis.bound
        key = (start, bound, brief.dtype)
        if key not in self._spaces:
            kernel = with_source(brief.kernel, start)
            self._spaces[key] = JointSpace(kernel, bound, brief.dtype)
        return self._spaces[key]

    @staticmethod
    def _values(space: JointSpace, attempt: Attempt) -> dict[str, int]:
        recipe = space.find(attempt.source)
        defaults = space.defaults(recipe or 0).values
        return {**defaults, **attempt.tunables}

    def _collect_tried(
        self, brief: Brief, space: dict[str, tuple[int, ...]]
    ) -> dict[Key, float | None]:
        """Return the gains of the values that the parent's text was tried with."""
        lineage = Lineage(brief.attempts, brief.target)
        found: dict[Key, float | None] = {}
        for each in lineage.attempts.values():
            if each.source == brief.parent.source and each.status is not Status.PENDING:
                values = brief.kernel.resolve_tunables(each.tunables, dtype=brief.dtype)
                if all(values[name] in several for name, several in space.items()):
                    found[key_of(values)] = _gain(lineage, each)
        return found

    def _is_new(self, brief: Brief, idea: _Idea) -> bool:
        try:
            kernel = with_source(brief.kernel, idea.source)
            key = source_key(kernel, idea.tunables, dtype=brief.dtype)
        except DeclarationError:
            return False
        # What is open is of a session that has ended early, or was given out here.
        known = any(
            each.source_key == key and each.status not in (Status.PENDING, Status.UNDECIDED)
            for each in brief.attempts
        )
        given = (brief.task.name, brief.dtype, brief.size, key)
        if known or given in self._given:
            return False
        self._given.add(given)
        return True


def _gain(lineage: Lineage, attempt: Attempt) -> float | None:
    if attempt.status is Status.BASELINE:
        return 1.0
    return lineage.merit(attempt) if attempt.ratio is not None else None
