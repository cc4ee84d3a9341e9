"""Whether lanes that part go their ways alone, or together with masks; and which all may take."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.markers import PREFIX, is_place
from metalbench.msl.ir.flow import Flow
from metalbench.msl.ir.model import Block, Call, Instruction
from metalbench.msl.vector.divergence import Divergence, DivergentRegion
from metalbench.msl.vector.windows import BoundsGuards


def going_alone(divergence: Divergence) -> frozenset[Block]:
    """The branches behind which nothing needs other lanes until all meet."""
    return frozenset(
        branch for branch, region in divergence.regions.items() if not _needs_others(region)
    )


def with_masks(flow: Flow, whole: Divergence, alone: frozenset[Block]) -> Divergence:
    """The regions that are run with masks, and those within them."""
    masked = {
        block
        for branch, region in whole.regions.items()
        if branch not in alone
        for block in region.blocks
    }
    regions = {
        branch: region
        for branch, region in whole.regions.items()
        if branch in masked or branch not in alone
    }
    return Divergence(flow, regions, masked, whole.joins, whole.divergent_loops)


Ways = Mapping[Block, tuple[Block, ...]]


def ways_of_all(
    body: Body, masked: Divergence, alone: Collection[Block], guards: BoundsGuards
) -> Ways:
    """Where lanes go alone if they part: the targets of each branch that all may take together.

    To where they meet they always may: none of them would be left to go alone. And where a loop
    lies on the way, it must be sure that they do not, for alone they would take long. Of a switch
    it is all targets or none: lanes are asked whether they have the same number.
    """
    regions = body.analysis.uniformity.divergence.regions

    def may_go(region: DivergentRegion, target: Block) -> bool:
        proven = has_loop(body.flow, region)
        return target is region.join or not guards.is_never_unanimous(
            region.branch, target, proven=proven
        )

    def targets(branch: Block) -> tuple[Block, ...]:
        found = tuple(each for each in branch.successors if may_go(regions[branch], each))
        is_switch = branch.terminator.opcode == "switch"
        return tuple(branch.successors) if found and is_switch else found

    return {branch: targets(branch) for branch in alone if branch not in masked.masked}


def has_loop(flow: Flow, region: DivergentRegion) -> bool:
    """Whether one begins, or goes on, between where lanes part and where they meet."""
    around = flow.loop_of.get(region.branch)
    is_header = around is not None and around.header in region.blocks
    return is_header or any(flow.loop_of.get(each) is not around for each in region.blocks)


def written_for_all(body: Body, masked: Divergence, ways: Ways) -> set[Block]:
    """The blocks that all lanes may come to together, and those where they may meet."""
    regions = body.analysis.uniformity.divergence.regions
    work = [body.function.entry, *masked.masked]
    found = set(work)
    while work:
        block = work.pop()
        ahead = [*ways.get(block, block.successors)]
        if block in ways:
            ahead.append(regions[block].join)
        new = {each for each in ahead if each is not body.flow.exit} - found
        found |= new
        work += new
    return found


def _needs_others(region: DivergentRegion) -> bool:
    return any(_takes_others(each) for block in region.blocks for each in block.instructions)


def _takes_others(instruction: Instruction) -> bool:
    """Functions of a SIMD-group do, and what stands behind a fence may."""
    if instruction.opcode == "fence":
        return True
    if not isinstance(instruction, Call) or not instruction.name.startswith(PREFIX):
        return False
    return not is_place(instruction.name)
