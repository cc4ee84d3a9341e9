"""Which branches share the code of lanes that go alone, what lanes bring there, what they leave."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from metalbench.msl.emission.body import Body
from metalbench.msl.ir.flow import Flow
from metalbench.msl.ir.model import Block, Phi, Value
from metalbench.msl.ir.types import Type
from metalbench.msl.vector.divergence import DivergentRegion


def outermost(
    flow: Flow, regions: Mapping[Block, DivergentRegion], alone: Collection[Block]
) -> dict[Block, DivergentRegion]:
    """Of each of the branches `alone`, the largest region of theirs that holds its own."""
    largest = sorted(
        (regions[branch] for branch in alone),
        key=lambda region: (-len(region.blocks), flow.position[region.branch]),
    )
    return {
        inner.branch: next(outer for outer in largest if _holds(outer, inner)) for inner in largest
    }


def _holds(outer: DivergentRegion, inner: DivergentRegion) -> bool:
    if outer is inner:
        return True
    return inner.branch in outer.blocks and inner.blocks <= outer.blocks


@dataclass(frozen=True)
class Result:
    """What lanes leave where they meet: a phi's value, or what they had in their last `turn`."""

    kind: str
    name: str
    type: Type


def results_of(body: Body, region: DivergentRegion) -> list[Result]:
    """What lanes leave that go alone through a region, or through a part of it."""
    join = region.join
    phis = join.phis if join.instructions else ()
    return [*(Result("phi", phi.result, phi.type) for phi in phis), *_turns(body, region)]


def _turns(body: Body, region: DivergentRegion) -> Iterator[Result]:
    """What lanes have computed in the last turn of a loop that they leave here."""
    inside = region.blocks | {region.branch}
    divergence, users = body.analysis.uniformity.divergence, body.kernel.uses
    for block in body.flow.order:
        if block not in inside:
            continue
        for each in block.instructions:
            uses = users.get(each.result)
            if uses and any(
                use not in inside and divergence.is_temporally_divergent(block, use) for use in uses
            ):
                yield Result("turn", each.result, each.type)


def brought(body: Body, region: DivergentRegion) -> list[Value]:
    """What lanes bring from the branch: values that are used before they are computed again."""
    definitions = body.analysis.uniformity.definitions
    before: dict[Block, set[Block]] = {}
    found: dict[str, Value] = {}
    for user, value in _used(body, region):
        for each in _sources(body, value):
            defined = definitions.get(each.text)
            if defined is None or not body.flow.dominates(defined, region.branch):
                continue
            if defined not in before:
                before[defined] = _reached(region, defined)
            if user in before[defined]:
                found[each.text] = each
    return list(found.values())


def _reached(region: DivergentRegion, defined: Block) -> set[Block]:
    """The blocks, with the branch's, whose start lanes come to before they leave this one again."""
    seen = {region.branch}
    work = [region.branch]
    while work:
        for block in work.pop().successors:
            if block in region.blocks and block not in seen and block is not defined:
                seen.add(block)
                work.append(block)
    return seen | {region.join}


def _sources(body: Body, value: Value) -> Iterator[Value]:
    """What a value is computed anew from, where it is."""
    instruction = body.kernel.derived.get(value.text)
    if instruction is None:
        yield value
    else:
        for operand in instruction.operands:
            yield from _sources(body, operand)


def _used(body: Body, region: DivergentRegion) -> Iterator[tuple[Block, Value]]:
    """Every use, with the block that it is in; that of a phi is where lanes come from."""
    inside, branch = region.blocks, region.branch
    blocks = [block for block in body.flow.order if block in inside]
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
                where = body.function.blocks.get(source)
                if where is not None and (where in inside or where is branch):
                    yield where, value
    for result in _turns(body, region):
        yield region.join, Value(result.type, result.name)
