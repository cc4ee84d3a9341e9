"""The held-out gate: whether a gain holds in cases that no proposer sees.

Sizes and inputs differ for each attempt, so that no sequence of proposals adapts to them (Dwork et
al., The reusable holdout, Science 349, 2015). Errors do not tell which case it was.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from metalbench import verify
from metalbench.errors import DeclarationError
from metalbench.task.declaration import Task, draw_size, spell_size
from metalbench.verify.held_out import CHANGES, HeldOut

if TYPE_CHECKING:
    from metalbench.kernel.header import Kernel

# The work of a timed size is that of the search's size within this factor, in operations and bytes.
COMPARABLE = 2.0
# That of sizes which a task draws by a rule may differ by this factor.
COMPARABLE_DRAWN = 8.0
TRIES = 400
DRAWN = 64
# Extents that a launch or a vector divides.
ALIGNMENTS = (32, 16, 4)
MOST_VERIFIED, MOST_BEYOND = 6, 4
# At sizes with more bytes the oracle takes long, so that only some changes of inputs are tried.
LARGE_BYTES = 32 << 20
MOST_CHANGES = 4
WRONG_CASE = (
    "wrong in a held-out case: at another size, with other inputs, or in other memory than those "
    "of the search"
)
SLOWER = "does not generalise: {ratio:.2g} times as fast at a held-out size"
PREDICTED_SLOWER = "does not generalise: predicted slower at a held-out size"


@dataclass(frozen=True)
class HeldOutCases:
    """The cases of one attempt: sizes to time or to predict, and cases to verify.

    `is_timed` is false if the task has no other size of comparable work: `timed` is then the size
    of the search, at which the cases are verified only.
    """

    timed: tuple[str, ...]
    is_timed: bool
    verified: HeldOut

    def at(self, place: int) -> HeldOut:
        """Return what is verified together with timed size `place`: all cases with the first."""
        return self.verified if place == 0 else HeldOut()


def draw_cases(
    task: Task,
    size: str,
    seed: int,
    *,
    kernel: Kernel | None = None,
    tunables: Mapping[str, int] | None = None,
) -> HeldOutCases:
    """Return held-out cases for a search at `size`; the same seed gives the same cases.

    The first timed size has extents that are divided as those of `size` are, the second one has odd
    extents. Sizes that the `// limits:` lines of `kernel` exclude are left out.
    """
    key = hashlib.sha256(f"{task.name}/held out/{size}/{seed}".encode()).digest()
    random = np.random.Generator(np.random.Philox(int.from_bytes(key[:16], "little")))
    draw = _Draw(task, size, random, kernel, tunables or {})
    timed = tuple(draw.sizes_to_time())
    verified = tuple(draw.sizes_to_verify())
    most = max(task.bytes(each, task.dtypes[0]) for each in verify.small_sizes(task) or [size])
    checked = [each for each in verified if task.bytes(each, task.dtypes[0]) <= most]
    changed = max(verified, key=task.flops, default=size)
    changes = list(CHANGES)
    if task.bytes(size, task.dtypes[0]) > LARGE_BYTES:
        random.shuffle(changes)
        changes = changes[:MOST_CHANGES]
    cases = HeldOut(verified, tuple(checked), tuple(changes), tuple(dict.fromkeys((size, changed))))
    return HeldOutCases(timed or (size,), bool(timed), cases)


@dataclass(frozen=True)
class _Draw:
    """Draws sizes of a task around one of its sizes."""

    task: Task
    size: str
    random: np.random.Generator
    kernel: Kernel | None
    tunables: Mapping[str, int]

    def sizes_to_time(self) -> Iterator[str]:
        """Yield up to two sizes of comparable work, of which the first one is not less."""
        if self.task.draw is not None:
            yield from self._nearest_drawn()
            return
        for aligned in (True, False):
            several = (self._vary(aligned=aligned) for _ in range(TRIES))
            found = (each for each in several if self._is_comparable(each, COMPARABLE))
            larger = (each for each in found if not aligned or self._is_larger(each))
            yield from islice(larger, 1)

    def _nearest_drawn(self) -> list[str]:
        """Return the two sizes of comparable work that are nearest, of drawn and declared ones."""
        declared = [each for each in self.task.sizes if each != self.size]
        drawn = [spell_size(self.task.draw(self.random)) for _ in range(DRAWN) if self.task.draw]
        several = [
            each
            for each in dict.fromkeys([*drawn, *declared])
            if self._is_comparable(each, COMPARABLE_DRAWN)
        ]
        return sorted(several, key=lambda each: max(self._distances(each)))[:2]

    def sizes_to_verify(self) -> Iterator[str]:
        """Yield sizes of no more than comparable work: random ones, and ones with a long extent."""
        several = self._draw_sizes() if self.task.draw is not None else self._list_extreme_sizes()
        known = self.task.extents(self.size)
        found = [
            each
            for each in dict.fromkeys(several)
            if self._is_allowed(each) and self.task.extents(each) != known
        ]
        most = self.task.work(self.size)
        for each in found[:MOST_VERIFIED]:
            if all(
                work <= COMPARABLE * limit
                for work, limit in zip(self.task.work(each), most, strict=True)
            ):
                yield each

    def _draw_sizes(self) -> Iterable[str]:
        return [draw_size(self.task, int(self.random.integers(1 << 31))) for _ in range(4)]

    def _list_extreme_sizes(self) -> Iterator[str]:
        """Yield sizes with one extent beyond the search's, and ones next to powers of two."""
        extents = self.task.extents(self.size)
        names = list(extents)
        self.random.shuffle(names)
        for beyond in names[:MOST_BEYOND]:
            several = {name: self._least(name) for name in extents}
            longer = extents[beyond] * self.random.uniform(1.2, COMPARABLE)
            several[beyond] = max(several[beyond], int(longer))
            yield self._spell(several)
        for _ in range(MOST_VERIFIED):
            yield self._spell({name: self._next_to_power(name) for name in extents})

    def _next_to_power(self, name: str) -> int:
        least, most = self._least(name), max(self.task.extents(self.size)[name], 2)
        power = self.random.uniform(math.log2(max(least, 1)), math.log2(most))
        near = 2 ** round(power) + int(self.random.integers(-1, 2))
        return int(max(near, least))

    def _vary(self, *, aligned: bool) -> str:
        """Return a size with each extent changed by up to a factor of two."""
        found = {}
        for name, extent in self.task.extents(self.size).items():
            near = max(extent * 2 ** self.random.uniform(-1, 1), self._least(name), 1)
            if aligned:
                step = next((each for each in ALIGNMENTS if extent % each == 0), 1)
                found[name] = max(step, round(near / step) * step)
            else:
                found[name] = max(int(near) | 1, 1)
        return self._spell(found)

    def _spell(self, extents: Mapping[str, int]) -> str:
        """Return the size with these extents, rounded to what the task allows."""
        return spell_size(
            {
                name: max(1, round(extent / step)) * step
                for name, extent in extents.items()
                for step in (self.task.multiples.get(name, 1),)
            }
        )

    def _least(self, name: str) -> int:
        # The size of the search may have less than any declared one.
        several = (*self.task.sizes.values(), self.task.extents(self.size))
        return min(int(extents[name]) for extents in several)

    def _is_comparable(self, size: str, factor: float) -> bool:
        if not self._is_allowed(size):
            return False
        return self._differs(size) and max(self._distances(size)) <= math.log(factor)

    def _is_larger(self, size: str) -> bool:
        return self.task.work(size)[1] >= self.task.work(self.size)[1]

    def _differs(self, size: str) -> bool:
        known = [self.task.extents(each) for each in (*self.task.sizes, self.size)]
        if self.task.draw is not None:
            return self.task.extents(size) != self.task.extents(self.size)
        return self.task.extents(size) not in known

    def _distances(self, size: str) -> Sequence[float]:
        ours, theirs = self.task.work(self.size), self.task.work(size)
        return [
            abs(math.log(max(mine, 1) / max(other, 1)))
            for mine, other in zip(ours, theirs, strict=True)
        ]

    def _is_allowed(self, size: str) -> bool:
        try:
            self.task.check_size(size)
        except DeclarationError:
            return False
        values = {**self.task.values(size), **self.tunables}
        if self.kernel is None:
            return True
        values = {**self.kernel.resolve_tunables(self.tunables), **self.task.values(size)}
        try:
            values = self.kernel.add_named_sizes(values)
            return not any(each.find_violation(values) for each in self.kernel.limits)
        except DeclarationError:
            return False
