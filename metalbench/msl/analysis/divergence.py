"""Divergence analysis: regions of divergent branches, their joins, and temporal divergence.

The terms are those of LLVM's UniformityAnalysis ("Convergence And Uniformity" in LLVM's
documentation).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from metalbench.msl.analysis.control_flow import Flow, NaturalLoop
from metalbench.msl.ir.model import BasicBlock


@dataclass(frozen=True)
class DivergentRegion:
    """Blocks between a divergent branch and its reconvergence point, both excluded.

    `join`, the reconvergence point, is the branch's immediate postdominator, as on Apple's GPUs.
    """

    branch: BasicBlock
    blocks: frozenset[BasicBlock]
    join: BasicBlock


@dataclass
class Divergence:
    """Effects of the divergent branches of a function. Grows as divergent branches are found.

    `masked` blocks run with a subset of the lanes. The phis at `joins` merge values of different
    lanes from different edges. Lanes leave `divergent_loops` in different iterations. Values of
    such a loop vary after it (temporal divergence). `repeated_regions` has, for a block that
    dominates a divergent branch, the regions from which some lanes run the block again before
    they reach the join.
    """

    flow: Flow
    regions: dict[BasicBlock, DivergentRegion] = field(default_factory=dict)
    masked: set[BasicBlock] = field(default_factory=set)
    joins: set[BasicBlock] = field(default_factory=set)
    divergent_loops: set[NaturalLoop] = field(default_factory=set)
    repeated_regions: dict[BasicBlock, list[frozenset[BasicBlock]]] = field(default_factory=dict)

    def add(self, branch: BasicBlock) -> bool:
        """Add the divergent branch of a block. Return whether it is new."""
        if branch in self.regions:
            return False
        join = self._find_join(branch, self.flow.postdominator[branch])
        blocks = frozenset(_find_blocks(branch, join))
        self.regions[branch] = DivergentRegion(branch, blocks, join)
        self.masked |= blocks
        for block in blocks:
            if self.flow.dominates(block, branch):
                self.repeated_regions.setdefault(block, []).append(blocks)
        sources = blocks | {branch}
        self.joins |= {
            block for block in (*blocks, join) if self._is_divergent_join(block, sources)
        }
        for loop in self.flow.loops:
            if branch in loop.blocks and join not in loop.blocks:
                self.divergent_loops.add(loop)
        return True

    def _find_join(self, branch: BasicBlock, join: BasicBlock) -> BasicBlock:
        """Return the reconvergence point after the exit blocks that belong to an iteration.

        Lanes run such exit blocks of a loop iteration by iteration, and reconverge after them.
        """
        loop = self.flow.loop_of.get(branch)
        while loop is not None:
            if branch not in loop.behind:
                while join in loop.behind:
                    join = self.flow.postdominator[join]
            loop = loop.parent
        return join

    def _is_divergent_join(self, block: BasicBlock, sources: frozenset[BasicBlock]) -> bool:
        """Return whether lanes may enter a block on several edges at once.

        Lanes enter a loop together, and begin its next iteration together, but never both at once.
        """
        loop = self.flow.loop_of.get(block)
        again = loop.latches if loop is not None and loop.header is block else []
        ways = [each for each in block.predecessors if each in sources]
        turns = sum(each in again for each in ways)
        return turns > 1 or len(ways) - turns > 1

    def is_temporally_divergent(self, definition: BasicBlock, use: BasicBlock) -> bool:
        """Return whether a loop with divergent exits ends between a definition and its use."""
        if definition is use:
            return False
        redone = self.repeated_regions.get(definition)
        if redone is not None and any(use not in region for region in redone):
            return True
        loop = self.flow.loop_of.get(definition)
        while loop is not None and use not in loop.blocks:
            if loop in self.divergent_loops:
                return True
            loop = loop.parent
        return False


def _find_blocks(branch: BasicBlock, join: BasicBlock) -> Iterator[BasicBlock]:
    seen: set[BasicBlock] = set()
    work = [block for block in branch.successors if block is not join]
    while work:
        block = work.pop()
        if block in seen:
            continue
        seen.add(block)
        yield block
        work += [after for after in block.successors if after is not join]
