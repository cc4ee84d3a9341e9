"""Choose between serialization and masks for divergent branches; find unanimous targets."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from metalbench.msl.emission.body import Emitter
from metalbench.msl.emission.markers import PREFIX, is_position
from metalbench.msl.ir.flow import Flow
from metalbench.msl.ir.model import Block, Call, Instruction
from metalbench.msl.vector.divergence import Divergence, DivergentRegion
from metalbench.msl.vector.windows import BoundsGuards


def find_serialized_branches(divergence: Divergence) -> frozenset[Block]:
    """Return the divergent branches whose regions do not need other lanes."""
    return frozenset(
        branch
        for branch, region in divergence.regions.items()
        if not any(_is_cross_lane(each) for block in region.blocks for each in block.instructions)
    )


def find_masked_regions(flow: Flow, whole: Divergence, serialized: frozenset[Block]) -> Divergence:
    """Return the regions that run with masks, and the regions inside of them."""
    masked = {
        block
        for branch, region in whole.regions.items()
        if branch not in serialized
        for block in region.blocks
    }
    regions = {
        branch: region
        for branch, region in whole.regions.items()
        if branch in masked or branch not in serialized
    }
    return Divergence(flow, regions, masked, whole.joins, whole.divergent_loops)


UnanimousTargets = Mapping[Block, tuple[Block, ...]]


def find_unanimous_targets(
    emitter: Emitter, masked: Divergence, serialized: Collection[Block], guards: BoundsGuards
) -> UnanimousTargets:
    """Return for each serialized branch the targets that all lanes may take together.

    The join is always one of them: it leaves no lane to serialize. If a region has a loop, a target
    is only left out if that is proven, because serialized loops are slow. Of a switch all targets
    or none are returned: lanes are only tested for equal numbers.
    """
    regions = emitter.analysis.uniformity.divergence.regions

    def may_go(region: DivergentRegion, target: Block) -> bool:
        proven = has_loop(emitter.flow, region)
        return target is region.join or not guards.is_never_unanimous(
            region.branch, target, proven=proven
        )

    def targets(branch: Block) -> tuple[Block, ...]:
        found = tuple(each for each in branch.successors if may_go(regions[branch], each))
        is_switch = branch.terminator.opcode == "switch"
        return tuple(branch.successors) if found and is_switch else found

    return {branch: targets(branch) for branch in serialized if branch not in masked.masked}


def has_loop(flow: Flow, region: DivergentRegion) -> bool:
    """Return whether a loop begins or continues between a region's branch and its join."""
    around = flow.loop_of.get(region.branch)
    is_header = around is not None and around.header in region.blocks
    return is_header or any(flow.loop_of.get(each) is not around for each in region.blocks)


def find_unmasked_blocks(
    emitter: Emitter, masked: Divergence, targets_of: UnanimousTargets
) -> set[Block]:
    """Return the blocks that convergent lanes may reach, and the joins."""
    regions = emitter.analysis.uniformity.divergence.regions
    work = [emitter.function.entry, *masked.masked]
    found = set(work)
    while work:
        block = work.pop()
        ahead = [*targets_of.get(block, block.successors)]
        if block in targets_of:
            ahead.append(regions[block].join)
        new = {each for each in ahead if each is not emitter.flow.exit} - found
        found |= new
        work += new
    return found


def _is_cross_lane(instruction: Instruction) -> bool:
    """Return whether an instruction needs other lanes; a fence may order their accesses."""
    if instruction.opcode == "fence":
        return True
    if not isinstance(instruction, Call) or not instruction.name.startswith(PREFIX):
        return False
    return not is_position(instruction.name)
