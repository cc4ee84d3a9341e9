"""What a history tells: which attempt is the best, what was made of what, which ideas failed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_steel.attempt import Attempt, Fate
from agent_steel.target import Target, merit

# What stands on its own: the kernel that a lineage began with, and what was better than its rival.
STANDING = (Fate.BASELINE, Fate.KEPT)
FAILED = (Fate.REVERTED, Fate.WRONG, Fate.BROKEN)


@dataclass(frozen=True)
class Technique:
    """One idea by its name: the attempts at it, and how many of them were kept."""

    name: str
    attempts: tuple[Attempt, ...]

    @property
    def kept(self) -> int:
        """How many of its attempts were kept."""
        return sum(each.fate is Fate.KEPT for each in self.attempts)


class Lineage:
    """All attempts of one history, oldest first; `target` says which of them are better."""

    def __init__(self, attempts: Iterable[Attempt], target: Target = Target.SPEED) -> None:
        self.attempts: Mapping[int, Attempt] = {each.number: each for each in attempts}
        self._target = target

    def rival(self, attempt: Attempt) -> Attempt | None:
        """Return the attempt that `attempt` was measured against."""
        number = attempt.parent if attempt.rival is None else attempt.rival
        return None if number is None else self.attempts.get(number)

    def root(self, attempt: Attempt) -> Attempt:
        """What the chain of those that it was measured against begins with."""
        while (rival := self.rival(attempt)) is not None:
            attempt = rival
        return attempt

    def gain(self, attempt: Attempt) -> float:
        """Return the root's time over this one's: the product of the ratios between them.

        Each of the ratios was measured in pairs, the product was not.
        """
        return math.prod(merit(Target.SPEED, each.ratio, None) for each in self._chain(attempt))

    def steadiness(self, attempt: Attempt) -> float:
        """Return the root's scatter over this one's: likewise, of what is beyond chance."""
        return math.prod(
            merit(Target.STABLE, each.ratio, each.steadiness) for each in self._chain(attempt)
        )

    def merit(self, attempt: Attempt) -> float:
        """Return how many times as good as the root it is by the target."""
        return math.prod(
            merit(self._target, each.ratio, each.steadiness) for each in self._chain(attempt)
        )

    def _chain(self, attempt: Attempt) -> Iterator[Attempt]:
        """An attempt and its rivals, but for the root, which was measured against nothing."""
        while (rival := self.rival(attempt)) is not None:
            yield attempt
            attempt = rival

    def standing(self, root: Attempt) -> list[Attempt]:
        """Return the root and all that was kept of what came of it, the best first."""
        members = [
            each
            for each in self.attempts.values()
            if each.fate in STANDING and self.root(each).number == root.number
        ]
        return sorted(members, key=self.merit, reverse=True)

    def start(self, source_key: str) -> Attempt | None:
        """The latest attempt that stands and is the kernel with this key, None if there is none."""
        found = (
            each
            for each in reversed(list(self.attempts.values()))
            if each.fate in STANDING and each.source_key == source_key
        )
        return next(found, None)

    def best(self, root: Attempt) -> Attempt:
        """Return the best of those that stand."""
        return self.standing(root)[0]

    def top(self, root: Attempt, most: int) -> list[Attempt]:
        """Up to `most` of those that stand, the best first."""
        return self.standing(root)[:most]

    def techniques(self) -> list[Technique]:
        """Return every technique that was tried, in the order of the first attempts at them."""
        found: dict[str, list[Attempt]] = {}
        for each in self.attempts.values():
            if each.technique and each.fate not in (Fate.REPEATED, Fate.PENDING):
                found.setdefault(each.technique, []).append(each)
        return [Technique(name, tuple(several)) for name, several in found.items()]

    def failures(self) -> list[tuple[Technique, str]]:
        """Techniques that were never kept, each with why the latest attempt at it failed."""
        return [(each, why(each.attempts[-1])) for each in self.techniques() if not each.kept]

    def children(self, attempt: Attempt) -> list[Attempt]:
        """What was made from an attempt."""
        return [each for each in self.attempts.values() if each.parent == attempt.number]

    def roots(self) -> list[Attempt]:
        """What was made from nothing that is known here."""
        return [each for each in self.attempts.values() if each.parent not in self.attempts]


def why(attempt: Attempt) -> str:
    """Why an attempt was not kept, in a line."""
    if attempt.error:
        return attempt.error.partition("\n")[0]
    if attempt.ratio is not None:
        return f"{attempt.ratio.value:.3g} times as fast as the best then"
    return attempt.fate.value


def rounds_without(attempts: Sequence[Attempt]) -> int:
    """Return how many rounds at the end have kept nothing."""
    rounds = sorted({each.round for each in attempts if each.round > 0})
    kept = max((each.round for each in attempts if each.fate is Fate.KEPT), default=0)
    return sum(each > kept for each in rounds)
