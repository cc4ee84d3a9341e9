"""Where the lanes of a SIMD-group part, and where they meet again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from metalbench.msl.ir.flow import Flow, Loop
from metalbench.msl.ir.model import Block


@dataclass(frozen=True)
class Region:
    """What lies between a branch that parts lanes and where all their ways meet, neither included.

    `join` is the branch's postdominator: Apple's GPUs bring lanes together there.
    """

    branch: Block
    blocks: frozenset[Block]
    join: Block


@dataclass
class Divergence:
    """What the branches that part lanes bring with them; grows as such branches are found.

    `masked` blocks run with some lanes only. At `joins` phis take values of different lanes from
    different ways. Lanes leave `loops` at different times, so that what is computed in there is of
    different turns behind them. What `redone` blocks compute is so behind these regions of theirs:
    some lanes have come around a loop to them again before they meet the others in it.
    """

    flow: Flow
    regions: dict[Block, Region] = field(default_factory=dict)
    masked: set[Block] = field(default_factory=set)
    joins: set[Block] = field(default_factory=set)
    loops: set[Loop] = field(default_factory=set)
    redone: dict[Block, list[frozenset[Block]]] = field(default_factory=dict)

    def add(self, branch: Block) -> bool:
        """Note that a block's branch parts lanes; whether that is news."""
        if branch in self.regions:
            return False
        join = self._behind_turns(branch, self.flow.postdominator[branch])
        blocks = frozenset(_between(branch, join))
        self.regions[branch] = Region(branch, blocks, join)
        self.masked |= blocks
        for block in blocks:
            if self.flow.dominates(block, branch):
                self.redone.setdefault(block, []).append(blocks)
        sources = blocks | {branch}
        self.joins |= {block for block in (*blocks, join) if self._mixes(block, sources)}
        for loop in self.flow.loops:
            if branch in loop.blocks and join not in loop.blocks:
                self.loops.add(loop)
        return True

    def _behind_turns(self, branch: Block, join: Block) -> Block:
        """Where lanes meet that leave a loop one turn after the other, and do something there."""
        loop = self.flow.loop_of.get(branch)
        while loop is not None:
            if branch not in loop.behind:
                while join in loop.behind:
                    join = self.flow.postdominator[join]
            loop = loop.parent
        return join

    def _mixes(self, block: Block, sources: frozenset[Block]) -> bool:
        """Whether lanes may come to a block by several ways at once.

        They enter a loop together, and begin another turn together, but never do both at once.
        """
        loop = self.flow.loop_of.get(block)
        again = loop.latches if loop is not None and loop.header is block else []
        ways = [each for each in block.predecessors if each in sources]
        turns = sum(each in again for each in ways)
        return turns > 1 or len(ways) - turns > 1

    def leaves_turns(self, definition: Block, use: Block) -> bool:
        """Whether between the two lies the end of a loop that lanes leave at different times."""
        if definition is use:
            return False
        redone = self.redone.get(definition)
        if redone is not None and any(use not in region for region in redone):
            return True
        loop = self.flow.loop_of.get(definition)
        while loop is not None and use not in loop.blocks:
            if loop in self.loops:
                return True
            loop = loop.parent
        return False


def _between(branch: Block, join: Block) -> Iterator[Block]:
    seen: set[Block] = set()
    work = [block for block in branch.successors if block is not join]
    while work:
        block = work.pop()
        if block in seen:
            continue
        seen.add(block)
        yield block
        work += [after for after in block.successors if after is not join]
