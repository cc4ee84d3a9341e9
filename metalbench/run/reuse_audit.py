"""Detect kernels that save work on inputs which they have run on before.

Timed passes repeat the same few sets of inputs. A kernel that keeps results between passes (in
scratch, in an output, anywhere in its process) is right every time and computes nothing. The audit
does not look for the place. It times single passes on the inputs that the timed passes use, and
single passes on inputs that the kernel has never seen. Buffers, host copies and dispatches are the
same in both blocks. Only the contents differ, so a kernel cannot tell the blocks apart except by
recognising the contents. A difference in time is knowledge of the contents.

The audits come at random moments between timed windows: a kernel cannot know when to be honest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, cycle, islice
from typing import Any

import numpy as np

from metalbench.kernel.prepare import Bound
from metalbench.kind import Kind
from metalbench.run.turns import Turns, like_seeds
from metalbench.task.workload import Arrays, workload
from metalbench.verify.verdict import Report

Values = np.ndarray[Any, Any]
# Passes of a block fill this time, within these numbers.
BLOCK_NS = 2e6
FEWEST_PASSES, MOST_PASSES = 4, 16
# A pass as slow as this is seldom disturbed by much: two passes of a block suffice.
SLOW_PASS_NS = 50e6
# Every measurement has so many audits.
LEAST_AUDITS = 2
# New inputs may take longer than known ones by this factor: branch prediction gains a few percent
# on repeated inputs.
SUSPICIOUS = 1.2
# A suspicion is confirmed by so many audits, of which this many must show it by themselves.
CONFIRMING_AUDITS = 8
CONFIRMED = 6


@dataclass(frozen=True)
class Audit:
    """Times in ns of single passes on known inputs and on new ones, each a block in order."""

    known_ns: tuple[float, ...]
    new_ns: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Return the least time on new inputs over the least one on known inputs.

        Other load makes single passes longer, never shorter, so least times are the steadiest.
        """
        return min(self.new_ns) / min(self.known_ns)


@dataclass
class ReuseAudit:
    """Audits of one kernel in its buffers, taken between its timed windows."""

    turns: Turns
    random: np.random.Generator = field(default_factory=np.random.default_rng)
    audits: list[Audit] = field(default_factory=list)

    def run(self) -> None:
        """Take one audit, and leave in memory what a round of the timed passes leaves."""
        passes = self.turns.passes
        count = _block_length(self._timed(passes[0], passes[0].workload.inputs))
        # The first pass has just been made: in timed windows no pass follows itself.
        bounds = list(islice(cycle(passes), 1, count + 1))
        draws = self._draws(count)
        known_ns, new_ns = (
            tuple(
                self._timed(each, self._renewed(*pair, each.workload.inputs if known else None))
                for each, pair in zip(bounds, draws, strict=True)
            )
            for known in (True, False)
        )
        for each in {id(each.inputs): each for each in bounds}.values():
            each.load(each.workload)
        self.turns.run()
        self.audits.append(Audit(known_ns, new_ns))

    def report(self) -> Report:
        """Complete the audits; return a finding if known inputs take less work than new ones."""
        while len(self.audits) < LEAST_AUDITS or (
            self._total.ratio > SUSPICIOUS and len(self.audits) < CONFIRMING_AUDITS
        ):
            self.turns.run()
            self.run()
        total = self._total
        showing = sum(each.ratio > SUSPICIOUS for each in self.audits)
        if total.ratio <= SUSPICIOUS or showing < CONFIRMED:
            return Report()
        message = (
            f"a pass on inputs that the kernel has run on before takes {min(total.known_ns):.4g} "
            f"ns, a pass on new inputs {min(total.new_ns):.4g} ns, {total.ratio:.2f} times as long "
            f"(least times; {showing} of {len(self.audits)} audits show it); the kernel must "
            "compute everything in every pass, and keep nothing from one pass to the next"
        )
        return Report((self.turns.examiner(self.turns.bound).finding(Kind.LESS_WORK, message),))

    @property
    def _total(self) -> Audit:
        """Return all audits as one."""
        known = chain.from_iterable(each.known_ns for each in self.audits)
        new = chain.from_iterable(each.new_ns for each in self.audits)
        return Audit(tuple(known), tuple(new))

    def _timed(self, bound: Bound, inputs: Arrays) -> float:
        """Copy `inputs` into the buffers of a pass, and return the time in ns of that one pass."""
        for name, each in bound.inputs.items():
            each.fill(inputs[name])
        samples = self.turns.device.sample(
            bound.dispatches,
            candidate_window=1,
            warmup_ns=0,
            max_pairs=1,
            min_pairs=1,
        )
        return float(samples.candidate_ns[0])

    def _draws(self, count: int) -> list[tuple[Arrays, Arrays]]:
        """Return `count` pairs of inputs that the kernel has never seen, as `_renewed` takes them.

        Drawing large inputs takes longer than a pass, so all pairs are of two draws. A task whose
        elements all belong together gets a draw for each pair.
        """
        works = self.turns.works
        task, size, dtype_name = works[0].task, works[0].size, works[0].dtype.name
        together = all(each.together for each in task.inputs.values())
        seeds = like_seeds(task, max(each.seed for each in works))
        drawn = [
            workload(task, size, dtype_name=dtype_name, seed=seed).inputs
            for seed in islice(seeds, count if together else 2)
        ]
        if together:
            return [(each, each) for each in drawn]
        return [(drawn[place % 2], drawn[1 - place % 2]) for place in range(count)]

    def _renewed(self, one: Arrays, other: Arrays, known: Arrays | None = None) -> Arrays:
        """Return inputs of which no element is where any pass had it, or the `known` ones.

        Each element is taken at random from one of two draws, both rotated by a random distance;
        floats are also scaled down by up to a hundredth. Elements that belong together are neither
        separated nor changed. Known inputs are the same work, whose result is overwritten, so that
        both blocks of an audit leave caches alike.
        """
        inputs = self.turns.bound.workload.task.inputs
        renewed = {
            name: array.copy() if inputs[name].together else self._chosen(array, other[name])
            for name, array in one.items()
        }
        if known is not None:
            for name, array in renewed.items():
                np.copyto(array, known[name])
        return renewed

    def _chosen(self, one: Values, other: Values) -> Values:
        size = one.size
        words = self.random.integers(0, 256, size=(size + 7) // 8, dtype=np.uint8)
        mask = np.unpackbits(words, count=size).view(bool)
        distances = self.random.integers(0, max(size, 1), size=2)
        chosen = np.where(mask, *map(np.roll, (one.reshape(-1), other.reshape(-1)), distances))
        if not np.issubdtype(one.dtype, np.integer) and one.dtype != bool:
            chosen *= chosen.dtype.type(1 - 0.01 * self.random.random())
        return chosen.reshape(one.shape)


def _block_length(pass_ns: float) -> int:
    """Return how many passes a block has: an even number, for two sets of inputs take turns."""
    if pass_ns > SLOW_PASS_NS:
        return 2
    wanted = int(np.ceil(BLOCK_NS / max(pass_ns, 1.0)))
    return 2 * (min(max(wanted, FEWEST_PASSES), MOST_PASSES) // 2)
