"""Hoist divergence to an earlier branch: lanes that diverge near a bound leave from one place.

Lanes are serialized from an earlier branch, at which they were convergent. Each lane repeats the
instructions since that branch. Several guards of one array's end then share one scalar region.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from metalbench.msl.emission.body import Emitter
from metalbench.msl.emission.choice import UnanimousTargets, has_loop
from metalbench.msl.emission.markers import PREFIX, is_position
from metalbench.msl.ir.model import Atomic, Block, Call, Instruction, Memory
from metalbench.msl.vector.divergence import DivergentRegion
from metalbench.msl.vector.private import MEMORY_INTRINSICS
from metalbench.msl.vector.windows import BoundsGuards

_MAX_REPEATED = 160  # instructions that each lane repeats


def hoist_divergence(
    emitter: Emitter, targets_of: UnanimousTargets, guards: BoundsGuards
) -> Mapping[Block, Block]:
    """Return the earlier branch from which lanes are serialized, for each branch that has one.

    Repeated instructions between the two branches must not have side effects.
    """
    flow, regions = emitter.flow, emitter.analysis.uniformity.divergence.regions
    found: dict[Block, Block] = {}
    candidates = [
        regions[each] for each in targets_of if _count_instructions(regions[each]) <= _MAX_REPEATED
    ]
    candidates = [each for each in candidates if not has_loop(flow, each)]
    candidates.sort(key=_count_instructions, reverse=True)
    for block in flow.order:
        if block not in targets_of or not guards.is_bounds_guard(block):
            continue
        enclosing = (
            each
            for each in candidates
            if block in each.blocks
            and flow.dominates(each.branch, block)
            and not any(
                map(_has_side_effect, _find_instructions_between(each, block, targets_of, found))
            )
        )
        outer = next(enclosing, None)
        if outer is not None:
            found[block] = outer.branch
    return found


def _count_instructions(region: DivergentRegion) -> int:
    return sum(len(each.instructions) for each in region.blocks)


def _find_instructions_between(
    region: DivergentRegion,
    block: Block,
    targets_of: UnanimousTargets,
    found: Mapping[Block, Block],
) -> Iterator[Instruction]:
    """Yield the instructions that may run between a region's branch and a block's terminator."""
    ahead: dict[Block, tuple[Block, ...]] = {}
    work = [each for each in targets_of[region.branch] if each in region.blocks]
    while work:
        each = work.pop()
        if each in ahead:
            continue
        # At other divergent branches lanes may take any edge to the join.
        taken = targets_of[each] if each in found else tuple(each.successors)
        ahead[each] = tuple(after for after in taken if after in region.blocks)
        work += ahead[each] if each is not block else ()
    leading = {block}
    before = 0
    while before != len(leading):
        before = len(leading)
        leading |= {each for each, after in ahead.items() if leading.intersection(after)}
    for each in leading:
        yield from each.instructions


def _has_side_effect(instruction: Instruction) -> bool:
    if isinstance(instruction, Memory):
        return instruction.opcode == "store" or bool(instruction.ordering) or instruction.volatile
    if isinstance(instruction, Call):
        name = instruction.name
        is_number = name.startswith("llvm.") and not MEMORY_INTRINSICS.match(name)
        return not is_number and not (name.startswith(PREFIX) and is_position(name))
    return isinstance(instruction, Atomic)
