"""What a history tells: which attempt is the best, what was made of what, which ideas failed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_steel.attempt import Attempt, Status, Target, merit
from metalbench.report.chart import Axis, Curve, Dot, Key, Plot, trace_steps, write_svg

# States of the first kernel of a lineage, and of one that is better than its rival.
STANDING = (Status.BASELINE, Status.KEPT)
FAILED = (Status.REVERTED, Status.WRONG, Status.BROKEN)


@dataclass(frozen=True)
class Technique:
    """One idea by its name: the attempts at it, and how many of them were kept."""

    name: str
    attempts: tuple[Attempt, ...]

    @property
    def kept(self) -> int:
        """How many of its attempts were kept."""
        return sum(each.status is Status.KEPT for each in self.attempts)


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
        """Return the first attempt of the chain of rivals."""
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
        """Yield an attempt and its rivals, without the root, which has no rival."""
        while (rival := self.rival(attempt)) is not None:
            yield attempt
            attempt = rival

    def standing(self, root: Attempt) -> list[Attempt]:
        """Return the root and all kept attempts of its lineage, the best first."""
        members = [
            each
            for each in self.attempts.values()
            if each.status in STANDING and self.root(each).number == root.number
        ]
        return sorted(members, key=self.merit, reverse=True)

    def start(self, source_key: str) -> Attempt | None:
        """Return the latest attempt with this key that was kept or is a baseline; else None."""
        found = (
            each
            for each in reversed(list(self.attempts.values()))
            if each.status in STANDING and each.source_key == source_key
        )
        return next(found, None)

    def best(self, root: Attempt) -> Attempt:
        """Return the best attempt of the lineage of `root`."""
        return self.standing(root)[0]

    def top(self, root: Attempt, most: int) -> list[Attempt]:
        """Return up to `most` attempts of the lineage of `root`, the best first."""
        return self.standing(root)[:most]

    def techniques(self) -> list[Technique]:
        """Return every technique that was tried, in the order of the first attempts at them."""
        found: dict[str, list[Attempt]] = {}
        for each in self.attempts.values():
            if each.technique and each.status not in (Status.REPEATED, Status.PENDING):
                found.setdefault(each.technique, []).append(each)
        return [Technique(name, tuple(several)) for name, several in found.items()]

    def failures(self) -> list[tuple[Technique, str]]:
        """Return techniques that were never kept, each with the reason of its latest failure."""
        return [(each, why(each.attempts[-1])) for each in self.techniques() if not each.kept]

    def children(self, attempt: Attempt) -> list[Attempt]:
        """Return the attempts derived from an attempt."""
        return [each for each in self.attempts.values() if each.parent == attempt.number]

    def roots(self) -> list[Attempt]:
        """Return the attempts without a known parent."""
        return [each for each in self.attempts.values() if each.parent not in self.attempts]


def why(attempt: Attempt) -> str:
    """Return why an attempt was not kept, in one line."""
    if attempt.error:
        return attempt.error.partition("\n")[0]
    if attempt.ratio is not None:
        return f"{attempt.ratio.value:.3g} times as fast as the best then"
    return attempt.status.value


def rounds_without(attempts: Sequence[Attempt]) -> int:
    """Return how many rounds at the end have kept nothing."""
    rounds = sorted({each.round for each in attempts if each.round > 0})
    kept = max((each.round for each in attempts if each.status is Status.KEPT), default=0)
    return sum(each > kept for each in rounds)


# A picture of a search: every attempt by its gain, and the best so far.

# Classes of chart.css.
COLOURS = {Status.KEPT: "line-2", Status.REVERTED: "line-5", Status.BASELINE: "line-0"}


def draw(lineage: Lineage, title: str, path: Path) -> None:
    """Write the picture to `path`, an SVG file. Raise as `write_svg`."""
    numbers, gains = best_so_far(lineage)
    dots = [
        Dot(each.number, gain, COLOURS[each.status], radius=3.5)
        for each in lineage.attempts.values()
        if each.status in COLOURS and (gain := _gain(lineage, each)) is not None
    ]
    best = trace_steps(list(zip(numbers, gains, strict=True))) if numbers else []
    attempts = [*numbers, *(each.x for each in dots)] or [0]
    most = max([1.0, *gains, *(each.y for each in dots)])
    styles = {each.style for each in dots}
    plot = Plot(
        title,
        Axis.over_range("attempt", min(attempts) - 0.5, max(attempts) + 0.5),
        Axis.over_range("time at the start / time", 0.0, 1.05 * most),
        curves=[Curve(best, COLOURS[Status.KEPT])] if best else (),
        dots=dots,
        legend=[
            Key("best so far", COLOURS[Status.KEPT], is_curve=True),
            *(Key(status.value, style) for status, style in COLOURS.items() if style in styles),
        ],
        heading=title,
        right=152,
        top=36,
    )
    write_svg(path, [[plot]])


def best_so_far(lineage: Lineage) -> tuple[list[int], list[float]]:
    """Return numbers of attempts that were judged, and the greatest gain up to each of them."""
    numbers, gains, best = [], [], 0.0
    for each in lineage.attempts.values():
        if each.status in STANDING:
            best = max(best, lineage.gain(each))
        if best and each.status is not Status.PENDING:
            numbers.append(each.number)
            gains.append(best)
    return numbers, gains


def _gain(lineage: Lineage, attempt: Attempt) -> float | None:
    if attempt.status is not Status.BASELINE and attempt.ratio is None:
        return None
    return lineage.gain(attempt)
