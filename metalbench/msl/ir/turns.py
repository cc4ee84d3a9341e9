"""Blocks that are left for good, but are part of a loop's turn in the source.

`if (c) { x = simd_sum(y); break; }` is behind the loop to LLVM, where the lanes of all turns would
meet. The front end marks where such a block ends (rewriting/leaving.py), by a branch that LLVM
leaves alone, and what lies between the loop and the mark is taken into the loop here.
"""

from __future__ import annotations

from collections.abc import Collection

from metalbench.msl.ir.model import Block, Call, Function, Instruction, Terminator
from metalbench.msl.ir.text import IrError

MARK = "mb_vector_turn_ends"


def take_marks(function: Function) -> list[Block]:
    """Take the marks out of a function; the blocks that they ended. Raises IrError."""
    found = []
    for block in function.blocks.values():
        mark = next((each for each in block.instructions if _is_mark(each)), None)
        if mark is not None:
            _take(function, block, mark)
            found.append(block)
    return found


def _is_mark(instruction: Instruction) -> bool:
    return isinstance(instruction, Call) and instruction.name == MARK


def _take(function: Function, block: Block, mark: Instruction) -> None:
    """Go on as if the mark had said no."""
    branch = block.terminator
    if [each.text for each in branch.operands] != [mark.result] or branch.opcode != "br":
        raise IrError(f"the end of a turn in {block.name} is not the end of the block")
    yes, no = branch.targets
    jump = Terminator(opcode="br", targets=(no,), place=branch.place)
    kept = [each for each in block.instructions[:-1] if each is not mark]
    block.instructions = [*kept, jump]
    block.successors = [function.blocks[no]]
    trap = function.blocks[yes]
    trap.predecessors = [each for each in trap.predecessors if each is not block]


def left_behind(end: Block, inside: Collection[Block]) -> tuple[set[Block], set[Block]]:
    """What lies between a mark and the loops that it is behind, and the blocks where these end.

    `inside` are the blocks of all loops that the mark is not in. Nothing comes out where there is a
    way to the mark that leads through no such loop.
    """
    found: set[Block] = set()
    last: set[Block] = set()
    work = [end]
    while work:
        block = work.pop()
        if block in inside:
            last.add(block)
        elif block not in found:
            found.add(block)
            if not block.predecessors:
                return set(), set()
            work += block.predecessors
    return found, last
