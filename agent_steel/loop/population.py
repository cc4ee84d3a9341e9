"""Islands of versions for ``--strategy population``: selection, crossover, migration, restarts.

An island model (Whitley et al., 1999; FunSearch, Romera-Paredes et al., 2024). An island has up to
`members` correct versions, also ones that are slower: they may be steps to a faster one. All state
follows from the history of the session, so that an interrupted search goes on as it would have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from agent_steel.attempt import Attempt, Status
from agent_steel.history.lineage import STANDING
from agent_steel.source import split_significant

if TYPE_CHECKING:
    from agent_steel.history.lineage import Lineage
    from agent_steel.loop.settings import Settings

# A parent is the fittest of this number of members that are drawn at random.
TOURNAMENT = 3
# Each version that was made from a member makes it less fit, by this part: others get their turn.
CHILD_COST = 0.25
CROSSOVER = 0.3
# Versions with one technique whose texts differ by a smaller part are one idea.
SAME_IDEA = 0.03
# More tokens of a text are not compared.
MOST_TOKENS = 4000
CORRECT = frozenset({Status.BASELINE, Status.KEPT, Status.REVERTED, Status.UNDECIDED})


@dataclass(frozen=True)
class Selection:
    """The parent of a version to ask for; with `other` the version combines the two."""

    island: int
    parent: Attempt
    other: Attempt | None = None


@dataclass(frozen=True)
class Island:
    """The versions of an island, the best one first, and the round of its last gain or restart."""

    members: tuple[Attempt, ...]
    gained: int = 0


@dataclass(frozen=True)
class Population:
    """The islands of a session. `founder` is the version that all of them begin with."""

    lineage: Lineage
    founder: Attempt
    session: int
    settings: Settings

    def islands(self, before: int) -> list[Island]:
        """Return the islands as they are before a round."""
        settings = self.settings
        found = [Island((self.founder,))] * settings.islands
        for number in range(1, before):
            found = [self._grow(each, place, number) for place, each in enumerate(found)]
            if number % settings.migration_rounds == 0:
                found = self._migrate(found, number)
            found = self._restart(found, number)
        return found

    def rival(self, island: int, number: int) -> Attempt:
        """Return the best version of an island, with what round `number` has brought so far."""
        before = self.islands(number)[island].members
        return self._best([*before, *self._born(island, number)])

    def select(self, number: int) -> list[Selection]:
        """Return the parents of a round: `candidates` for each island."""
        islands = self.islands(number)
        return [
            self._select(islands, place, Random(f"{self._key}/{number}/{place}/{turn}"))
            for turn in range(self.settings.candidates)
            for place in range(len(islands))
        ]

    @property
    def _key(self) -> str:
        return f"{self.settings.seed}/{self.founder.task}/{self.founder.dtype}/{self.founder.size}"

    def _select(self, islands: Sequence[Island], place: int, random: Random) -> Selection:
        parent = self._draw(islands[place].members, random)
        others = [
            each
            for other, island in enumerate(islands)
            if other != place
            for each in island.members
            if each.source_key != parent.source_key
            and (not parent.technique or each.technique != parent.technique)
            and each.number != self.founder.number
        ]
        is_crossed = random.random() < CROSSOVER
        if not others or not is_crossed or parent.number == self.founder.number:
            return Selection(place, parent)
        return Selection(place, parent, self._draw(others, random))

    def _draw(self, members: Sequence[Attempt], random: Random) -> Attempt:
        """Return the winner of a tournament."""
        drawn = [random.choice(members) for _ in range(TOURNAMENT)]
        return max(drawn, key=lambda each: (self._fitness(each), -each.number))

    def _fitness(self, attempt: Attempt) -> float:
        children = sum(
            attempt.number in (each.parent, each.crossed)
            for each in self.lineage.attempts.values()
            if each.session == self.session
        )
        return self.lineage.merit(attempt) / (1 + CHILD_COST * children)

    def _best(self, members: Iterable[Attempt]) -> Attempt:
        standing = [each for each in members if each.status in STANDING]
        return max([self.founder, *standing], key=self.lineage.merit)

    def _born(self, island: int, number: int) -> list[Attempt]:
        """Return the correct versions that a round has brought to an island."""
        return [
            each
            for each in self.lineage.attempts.values()
            if (each.session, each.island, each.round) == (self.session, island, number)
            and each.status in CORRECT
            and each.ratio is not None
        ]

    def _grow(self, island: Island, place: int, number: int) -> Island:
        born = self._born(place, number)
        if not born:
            return island
        gained = number if any(each.status is Status.KEPT for each in born) else island.gained
        return Island(self._keep_different([*island.members, *born]), gained)

    def _keep_different(self, members: Sequence[Attempt]) -> tuple[Attempt, ...]:
        """Return the best members that are different ideas; the best one stays in any case."""
        best = self._best(members)
        kept = [best]
        for each in sorted(members, key=self.lineage.merit, reverse=True):
            if len(kept) == self.settings.members:
                break
            if not any(is_same_idea(each, other) for other in kept):
                kept.append(each)
        return tuple(kept)

    def _migrate(self, islands: Sequence[Island], number: int) -> list[Island]:
        """Send the best version of each island to the next one, which gains if it is better."""
        bests = [self._best(each.members) for each in islands]
        found = []
        for place, each in enumerate(islands):
            migrant = bests[place - 1]
            if any(migrant.number == other.number for other in each.members):
                found.append(each)
                continue
            is_better = self.lineage.merit(migrant) > self.lineage.merit(bests[place])
            members = self._keep_different([*each.members, migrant])
            found.append(Island(members, number if is_better else each.gained))
        return found

    def _restart(self, islands: Sequence[Island], number: int) -> list[Island]:
        """Restart islands that have stagnated, but for the one with the best version."""
        merits = [self.lineage.merit(self._best(each.members)) for each in islands]
        leader = merits.index(max(merits))
        return [
            Island((self.founder,), number)
            if place != leader and number - each.gained >= self.settings.stagnation_rounds
            else each
            for place, each in enumerate(islands)
        ]


def is_same_idea(one: Attempt, other: Attempt) -> bool:
    """Return whether two versions are the same, or have one technique and nearly one text."""
    if one.number == other.number or one.source_key == other.source_key:
        return True
    return one.technique == other.technique and distance(one.source, other.source) < SAME_IDEA


@lru_cache(maxsize=4096)
def distance(one: str, other: str) -> float:
    """Return the edit distance of two texts in tokens, as a part of the longer one.

    Comments and spacing do not count (Levenshtein, 1966; row by row).
    """
    if one == other:
        return 0.0
    codes: dict[str, int] = {}
    first, second = (
        np.array([codes.setdefault(each, len(codes)) for each in split_significant(text)], int)
        for text in (one, other)
    )
    first, second = first[:MOST_TOKENS], second[:MOST_TOKENS]
    if not first.size or not second.size:
        return float(first.size != second.size)
    steps = np.arange(second.size + 1)
    row = steps.copy()
    for number, token in enumerate(first, 1):
        changed = np.minimum(row[1:] + 1, row[:-1] + (second != token))
        row = np.concatenate(([number], changed))
        # Insertions: each element may be its left neighbour and one more.
        row = np.minimum.accumulate(row - steps) + steps
    return float(row[-1]) / max(first.size, second.size)
