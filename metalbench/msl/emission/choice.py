"""Whether lanes that part go their ways alone, or together with masks."""

from __future__ import annotations

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.markers import PREFIX, is_place
from metalbench.msl.ir.model import Call, Instruction
from metalbench.msl.vector.divergence import Divergence, Region


def goes_alone(body: Body, region: Region) -> bool:
    """Whether nothing in a region needs other lanes."""
    return not any(_needs_others(each) for block in region.blocks for each in block.instructions)


def _needs_others(instruction: Instruction) -> bool:
    """Functions of a SIMD-group do, and what stands behind a fence may."""
    if instruction.opcode == "fence":
        return True
    if not isinstance(instruction, Call) or not instruction.name.startswith(PREFIX):
        return False
    return not is_place(instruction.name)


def with_masks(body: Body) -> Divergence:
    """The regions that are run with masks, and those within them."""
    whole = body.analysed.shapes.divergence
    masked = {
        block
        for region in whole.regions.values()
        if not goes_alone(body, region)
        for block in region.blocks
    }
    regions = {
        branch: region
        for branch, region in whole.regions.items()
        if branch in masked or not goes_alone(body, region)
    }
    return Divergence(body.flow, regions, masked, whole.joins, whole.loops)
