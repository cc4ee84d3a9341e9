"""Live-ins and live-outs of scalar regions, and the regions that share a function."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from metalbench.msl.emission.body import Emitter
from metalbench.msl.ir.flow import Flow
from metalbench.msl.ir.model import Block, Phi, Value
from metalbench.msl.ir.types import Type
from metalbench.msl.vector.divergence import DivergentRegion


def find_outermost_regions(
    flow: Flow, regions: Mapping[Block, DivergentRegion], serialized: Collection[Block]
) -> dict[Block, DivergentRegion]:
    """Return for each serialized branch the largest serialized region that contains its region."""
    largest = sorted(
        (regions[branch] for branch in serialized),
        key=lambda region: (-len(region.blocks), flow.position[region.branch]),
    )
    return {
        inner.branch: next(outer for outer in largest if _contains(outer, inner))
        for inner in largest
    }


def _contains(outer: DivergentRegion, inner: DivergentRegion) -> bool:
    if outer is inner:
        return True
    return inner.branch in outer.blocks and inner.blocks <= outer.blocks


@dataclass(frozen=True)
class LiveOut:
    """A live-out of a region: a phi of the join, or a value of each lane's last iteration."""

    kind: str
    name: str
    type: Type


def find_live_outs(emitter: Emitter, region: DivergentRegion) -> list[LiveOut]:
    """Return the live-outs of a region or of a part of it."""
    join = region.join
    phis = join.phis if join.instructions else ()
    return [
        *(LiveOut("phi", phi.result, phi.type) for phi in phis),
        *_find_temporal_live_outs(emitter, region),
    ]


def _find_temporal_live_outs(emitter: Emitter, region: DivergentRegion) -> Iterator[LiveOut]:
    """Yield the values of the last iteration of a loop that lanes leave in this region."""
    inside = region.blocks | {region.branch}
    divergence, users = emitter.analysis.uniformity.divergence, emitter.kernel.uses
    for block in emitter.flow.order:
        if block not in inside:
            continue
        for each in block.instructions:
            uses = users.get(each.result)
            if uses and any(
                use not in inside and divergence.is_temporally_divergent(block, use) for use in uses
            ):
                yield LiveOut("iteration", each.result, each.type)


def find_live_ins(emitter: Emitter, region: DivergentRegion) -> list[Value]:
    """Return the live-ins: values from before the branch that are used before a redefinition."""
    definitions = emitter.analysis.uniformity.definitions
    before: dict[Block, set[Block]] = {}
    found: dict[str, Value] = {}
    for user, value in _find_uses(emitter, region):
        for each in _find_rematerialisation_operands(emitter, value):
            defined = definitions.get(each.text)
            if defined is None or not emitter.flow.dominates(defined, region.branch):
                continue
            if defined not in before:
                before[defined] = _find_reachable(region, defined)
            if user in before[defined]:
                found[each.text] = each
    return list(found.values())


def _find_reachable(region: DivergentRegion, defined: Block) -> set[Block]:
    """Return the blocks that lanes reach before they leave the block `defined` again."""
    seen = {region.branch}
    work = [region.branch]
    while work:
        for block in work.pop().successors:
            if block in region.blocks and block not in seen and block is not defined:
                seen.add(block)
                work.append(block)
    return seen | {region.join}


def _find_rematerialisation_operands(emitter: Emitter, value: Value) -> Iterator[Value]:
    """Yield the values from which a value is rematerialised; else the value itself."""
    instruction = emitter.kernel.rematerialised.get(value.text)
    if instruction is None:
        yield value
    else:
        for operand in instruction.operands:
            yield from _find_rematerialisation_operands(emitter, operand)


def _find_uses(emitter: Emitter, region: DivergentRegion) -> Iterator[tuple[Block, Value]]:
    """Yield every use with its block; a phi uses an operand in the predecessor."""
    inside, branch = region.blocks, region.branch
    blocks = [block for block in emitter.flow.order if block in inside]
    for block in blocks:
        own = {each.result for each in block.instructions}
        for each in block.instructions:
            if not isinstance(each, Phi):
                yield from ((block, value) for value in each.operands if value.text not in own)
    for value in branch.terminator.operands:
        yield branch, value
    for block in (*blocks, region.join):
        for phi in block.phis if block.instructions else ():
            for value, source in zip(phi.operands, phi.sources, strict=True):
                where = emitter.function.blocks.get(source)
                if where is not None and (where in inside or where is branch):
                    yield where, value
    for result in _find_temporal_live_outs(emitter, region):
        yield region.join, Value(result.type, result.name)
