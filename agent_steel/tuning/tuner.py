"""The proposer that needs no model: values of tunables, and transformations known to be safe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock

from agent_steel.attempt import Attempt, Status
from agent_steel.history.lineage import Lineage
from agent_steel.proposal import Brief, Progress, Proposal, Usage
from agent_steel.source import source_key, with_source
from agent_steel.tuning.space import beyond, find_untried, key_of, read_declared
from agent_steel.tuning.transformations import TRANSFORMATIONS
from metalbench.errors import DeclarationError
from metalbench.kernel import Kernel
from metalbench.result.tuning import format_tunables

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

    In this order: the header's own values, each transformation of the best version's text, values
    beyond the header's. What is in the history is not proposed again, nor what was proposed before.
    """

    name = "tuner"
    model = ""
    usage = Usage()
    # It costs nothing to ask for more, and the best of several is a better parent.
    candidates = 4

    def __init__(self) -> None:
        self._given: set[tuple[str, str, str, str]] = set()
        self._lock = Lock()

    def propose(self, brief: Brief, say: Progress) -> Proposal | None:
        """Return the next version; None if nothing is left to try."""
        with self._lock:
            for idea in self._ideas(brief):
                if self._is_new(brief, idea):
                    return Proposal(idea.source, idea.summary, idea.technique, idea.tunables)
        return None

    def _ideas(self, brief: Brief) -> Iterator[_Idea]:
        yield from self._tunings(brief, "tunables", read_declared(brief.kernel))
        yield from self._transform(brief)
        yield from self._tunings(brief, "tunables beyond the header's", beyond(brief.kernel))

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

    def _transform(self, brief: Brief) -> Iterator[_Idea]:
        kept = brief.kernel.tuned(brief.parent.tunables, dtype=brief.dtype)
        for each in TRANSFORMATIONS:
            for source in each.versions(brief.kernel):
                yield _Idea(source, _of_both(brief, source, kept), each.technique, each.summary)

    def _collect_tried(
        self, brief: Brief, space: dict[str, tuple[int, ...]]
    ) -> dict[Key, float | None]:
        """Return the gains of the values that the parent's text was tried with."""
        lineage = Lineage(brief.attempts, brief.target)
        found: dict[Key, float | None] = {}
        for each in lineage.attempts.values():
            if each.source == brief.parent.source and each.status is not Status.PENDING:
                values = brief.kernel.tuned(each.tunables, dtype=brief.dtype)
                if all(values[name] in several for name, several in space.items()):
                    found[key_of(values)] = _gain(lineage, each)
        return found

    def _is_new(self, brief: Brief, idea: _Idea) -> bool:
        try:
            kernel = with_source(brief.kernel, idea.source)
            key = source_key(kernel, idea.tunables, dtype=brief.dtype)
        except DeclarationError:
            return False
        # What is pending is of a session that was broken off, or was given out here.
        known = any(
            each.source_key == key and each.status is not Status.PENDING for each in brief.attempts
        )
        given = (brief.task.name, brief.dtype, brief.size, key)
        if known or given in self._given:
            return False
        self._given.add(given)
        return True


def _of_both(brief: Brief, source: str, kept: dict[str, int]) -> dict[str, int]:
    """Return the values of the parent that are valid and not default in a transformed text."""
    other: Kernel = with_source(brief.kernel, source)
    defaults = other.tuned(dtype=brief.dtype)
    return {
        name: value for name, value in kept.items() if name in defaults and defaults[name] != value
    }


def _gain(lineage: Lineage, attempt: Attempt) -> float | None:
    if attempt.status is Status.BASELINE:
        return 1.0
    return lineage.merit(attempt) if attempt.ratio is not None else None
