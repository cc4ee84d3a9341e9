"""Blocks that are left for good, but are part of a loop's turn in the source.

`if (c) { x = simd_sum(y); break; }` is behind the loop to LLVM, where the lanes of all turns would
meet. The front end marks where such a block ends (rewriting/leaving.py), by a branch that LLVM
leaves alone, and what lies between the loop and the mark is taken into the loop here. Which loop
that is the mark's operand says: it comes from where the turn begins.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from metalbench.msl.ir.model import Block, Call, Function, Instruction, Phi, Terminator
from metalbench.msl.ir.text import IrError

BEGINS = "mb_vector_turn_begins"
MARK = "mb_vector_turn_ends"


class Mark(NamedTuple):
    """The block that a mark ended, and those in which the turns began that end there."""

    end: Block
    begun: frozenset[Block]


def take_marks(function: Function) -> list[Mark]:
    """Take the marks out of a function, and what says where turns begin. Raises IrError."""
    blocks = {each.result: block for block, each in function.instructions if each.result}
    definitions = function.definitions()
    found, carried = [], set[str]()
    for block in function.blocks.values():
        mark = next((each for each in block.instructions if _calls(each, MARK)), None)
        if mark is not None:
            turns = _leading_to(mark, definitions)
            begun = (blocks[each] for each in turns if _calls(definitions[each], BEGINS))
            found.append(Mark(block, frozenset(begun)))
            carried |= turns
            _take(function, block, mark)
    for block in function.blocks.values():
        block.instructions = [
            each
            for each in block.instructions
            if each.result not in carried and not _calls(each, BEGINS)
        ]
    return found


def _calls(instruction: Instruction, name: str) -> bool:
    return isinstance(instruction, Call) and instruction.name == name


def _leading_to(mark: Instruction, definitions: Mapping[str, Instruction]) -> set[str]:
    """Return the values behind a mark's operand: calls that begin an iteration, and phis."""
    found: set[str] = set()
    work = list(mark.operands)
    while work:
        value = work.pop()
        if value.text in found or value.is_undefined:
            continue
        turn = definitions.get(value.text)
        if isinstance(turn, Phi):
            work += turn.operands
        elif turn is None or not _calls(turn, BEGINS):
            raise IrError(f"{value.text} does not tell where a turn began")
        found.add(value.text)
    return found


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
    """Return the blocks between a mark and the loops before it, and the last blocks of these.

    `inside` are the blocks of the loop whose turn ends there, and of those around it. Nothing comes
    out where there is a way to the mark that leads through no such loop.
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
