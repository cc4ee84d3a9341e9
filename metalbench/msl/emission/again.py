"""Lanes that part near an end go their ways alone from a branch before, where they stayed together.

What they have done since is done once more, by each for itself. So all branches that tell where an
array ends, one element after the other, need one place from which lanes go alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.choice import Ways, has_loop
from metalbench.msl.emission.markers import PREFIX, is_place
from metalbench.msl.ir.model import Atomic, Block, Call, Instruction, Memory
from metalbench.msl.vector.divergence import DivergentRegion
from metalbench.msl.vector.private import MEMORY_INTRINSICS
from metalbench.msl.vector.windows import BoundsGuards

_FEW = 160  # instructions: what each lane does once more, at most


def gone_back_to(body: Body, ways: Ways, guards: BoundsGuards) -> Mapping[Block, Block]:
    """The branch from which lanes go alone, if they part at this one and do not do so from there.

    Nothing that is done between the two is seen by anybody, or changed by being done twice.
    """
    flow, regions = body.flow, body.analysis.uniformity.divergence.regions
    found: dict[Block, Block] = {}
    little = [regions[each] for each in ways if _length(regions[each]) <= _FEW]
    little = [each for each in little if not has_loop(flow, each)]
    little.sort(key=_length, reverse=True)
    for block in flow.order:
        if block not in ways or not guards.is_bounds_guard(block):
            continue
        around = (
            each
            for each in little
            if block in each.blocks
            and flow.dominates(each.branch, block)
            and not any(map(_is_seen, _between(each, block, ways, found)))
        )
        outer = next(around, None)
        if outer is not None:
            found[block] = outer.branch
    return found


def _length(region: DivergentRegion) -> int:
    return sum(len(each.instructions) for each in region.blocks)


def _between(
    region: DivergentRegion, block: Block, ways: Ways, found: Mapping[Block, Block]
) -> Iterator[Instruction]:
    """What may have been done on the way from a region's branch to a block's end."""
    ahead: dict[Block, tuple[Block, ...]] = {}
    work = [each for each in ways[region.branch] if each in region.blocks]
    while work:
        each = work.pop()
        if each in ahead:
            continue
        # Where lanes part that do not go back, they come by all ways to where they meet.
        taken = ways[each] if each in found else tuple(each.successors)
        ahead[each] = tuple(after for after in taken if after in region.blocks)
        work += ahead[each] if each is not block else ()
    leading = {block}
    before = 0
    while before != len(leading):
        before = len(leading)
        leading |= {each for each, after in ahead.items() if leading.intersection(after)}
    for each in leading:
        yield from each.instructions


def _is_seen(instruction: Instruction) -> bool:
    if isinstance(instruction, Memory):
        return instruction.opcode == "store" or bool(instruction.ordering) or instruction.volatile
    if isinstance(instruction, Call):
        name = instruction.name
        is_number = name.startswith("llvm.") and not MEMORY_INTRINSICS.match(name)
        return not is_number and not (name.startswith(PREFIX) and is_place(name))
    return isinstance(instruction, Atomic)
