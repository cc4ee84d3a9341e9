"""Control-flow linearisation: run the masked blocks of divergent regions in one sequence.

Partial linearisation (Moll and Hack, "Partial Control-Flow Linearization", PLDI 2018): uniform
branches stay, divergent ones disappear. The blocks between a divergent branch and its join run
in topological order. Each block runs with the mask of the lanes that reach it, and is skipped if
the mask is empty. A loop repeats while its header's mask is not empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metalbench.msl.ir.flow import Flow, Loop
from metalbench.msl.ir.model import Block
from metalbench.msl.ir.text import IrError
from metalbench.msl.vector.divergence import Divergence


@dataclass(frozen=True)
class Linearisation:
    """Order of the masked blocks of a function.

    `next_block` is the successor of each masked block in its sequence; after the last block, the
    join. `ended_loops` are the loops that end with a masked block, innermost first.
    `first_block` is the first block of a sequence, by its branch if that is not masked itself.
    """

    next_block: Mapping[Block, Block]
    ended_loops: Mapping[Block, tuple[Loop, ...]]
    first_block: Mapping[Block, Block]


def linearise(flow: Flow, divergence: Divergence) -> Linearisation:
    """Order the masked blocks. Raise IrError for a sequence with several joins."""
    group_of = _group_blocks(divergence)
    members: dict[Block, list[Block]] = {}
    for block in sorted(divergence.masked, key=flow.position.__getitem__):
        members.setdefault(group_of[block], []).append(block)
    ends: dict[Block, set[Block]] = {group: set() for group in members}
    for region in divergence.regions.values():
        if region.blocks and region.join not in divergence.masked:
            ends[group_of[next(iter(region.blocks))]].add(region.join)
    after: dict[Block, Block] = {}
    for group, blocks in members.items():
        if len(ends[group]) != 1:
            names = ", ".join(sorted(each.name for each in ends[group]))
            raise IrError(
                f"lanes that diverge before {blocks[0].name} have no single join: {names or 'none'}"
            )
        (end,) = ends[group]
        after |= dict(zip(blocks, [*blocks[1:], end], strict=True))
    return Linearisation(
        after, _find_loop_ends(flow, divergence), _find_first_blocks(flow, divergence)
    )


def _group_blocks(divergence: Divergence) -> dict[Block, Block]:
    """Return for each masked block a representative of its sequence (union-find)."""
    above: dict[Block, Block] = {}

    def representative(block: Block) -> Block:
        while above.setdefault(block, block) is not block:
            block = above[block]
        return block

    for region in divergence.regions.values():
        # A branch or join inside another region belongs to the sequence of that region.
        ends = [each for each in (region.branch, region.join) if each in divergence.masked]
        first, *others = [*region.blocks, *ends] or [region.join]
        for block in others:
            above[representative(block)] = representative(first)
    return {block: representative(block) for block in divergence.masked}


def _find_loop_ends(flow: Flow, divergence: Divergence) -> dict[Block, tuple[Loop, ...]]:
    last: dict[Block, tuple[Loop, ...]] = {}
    for loop in flow.loops:
        if loop.header not in divergence.masked:
            continue
        if not loop.blocks <= divergence.masked:
            raise IrError(f"the loop at {loop.header.name} is only partly masked")
        end = max(loop.blocks, key=flow.position.__getitem__)
        last[end] = (*last.get(end, ()), loop)
    return last


def _find_first_blocks(flow: Flow, divergence: Divergence) -> dict[Block, Block]:
    return {
        branch: min(region.blocks, key=flow.position.__getitem__, default=region.join)
        for branch, region in divergence.regions.items()
        if branch not in divergence.masked
    }
