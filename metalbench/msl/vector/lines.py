"""Masked blocks in a row: run one after the other, each by the lanes whose way leads through it.

Where lanes part there is nothing left to branch on. The blocks between the branch and where all
ways meet are run in an order that has every block behind those that lead to it; a block that no
lane comes to is skipped, and a loop goes back while a lane remains in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metalbench.msl.ir.flow import Flow, Loop
from metalbench.msl.ir.model import Block
from metalbench.msl.ir.text import IrError
from metalbench.msl.vector.divergence import Divergence


@dataclass(frozen=True)
class Lines:
    """`after` says which block follows a masked one: of its line, or where the line ends.

    `loops` are those of which a masked block is the last, inner ones first; `first` is the block
    that a branch at which lanes part goes on with, if it is not masked itself.
    """

    after: Mapping[Block, Block]
    loops: Mapping[Block, tuple[Loop, ...]]
    first: Mapping[Block, Block]


def lines_of(flow: Flow, divergence: Divergence) -> Lines:
    """Put masked blocks in lines. Raises IrError for a line that could end in several places."""
    line_of = _together(divergence)
    members: dict[Block, list[Block]] = {}
    for block in sorted(divergence.masked, key=flow.position.__getitem__):
        members.setdefault(line_of[block], []).append(block)
    ends: dict[Block, set[Block]] = {line: set() for line in members}
    for region in divergence.regions.values():
        if region.blocks and region.join not in divergence.masked:
            ends[line_of[next(iter(region.blocks))]].add(region.join)
    after: dict[Block, Block] = {}
    for line, blocks in members.items():
        if len(ends[line]) != 1:
            names = ", ".join(sorted(each.name for each in ends[line]))
            raise IrError(
                f"lanes that part at {blocks[0].name} meet again at: {names or 'nowhere'}"
            )
        (end,) = ends[line]
        after |= dict(zip(blocks, [*blocks[1:], end], strict=True))
    return Lines(after, _last_blocks(flow, divergence), _first_blocks(flow, divergence))


def _together(divergence: Divergence) -> dict[Block, Block]:
    """Which blocks are of one line: the same representative stands for all of them."""
    above: dict[Block, Block] = {}

    def representative(block: Block) -> Block:
        while above.setdefault(block, block) is not block:
            block = above[block]
        return block

    for region in divergence.regions.values():
        # A branch or a join within another region is of that one's line.
        ends = [each for each in (region.branch, region.join) if each in divergence.masked]
        first, *others = [*region.blocks, *ends] or [region.join]
        for block in others:
            above[representative(block)] = representative(first)
    return {block: representative(block) for block in divergence.masked}


def _last_blocks(flow: Flow, divergence: Divergence) -> dict[Block, tuple[Loop, ...]]:
    last: dict[Block, tuple[Loop, ...]] = {}
    for loop in flow.loops:
        if loop.header not in divergence.masked:
            continue
        if not loop.blocks <= divergence.masked:
            raise IrError(f"only a part of the loop at {loop.header.name} is masked")
        end = max(loop.blocks, key=flow.position.__getitem__)
        last[end] = (*last.get(end, ()), loop)
    return last


def _first_blocks(flow: Flow, divergence: Divergence) -> dict[Block, Block]:
    return {
        branch: min(region.blocks, key=flow.position.__getitem__, default=region.join)
        for branch, region in divergence.regions.items()
        if branch not in divergence.masked
    }
