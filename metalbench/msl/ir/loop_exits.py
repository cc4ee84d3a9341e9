"""Blocks behind a loop that belong to one of its iterations in the source.

In `if (c) { x = simd_sum(y); break; }` the sum is behind the loop to LLVM, where the lanes of all
iterations would meet: temporal divergence. The front end marks where such a block ends
(rewriting/leaving.py), by a branch that LLVM does not remove, and the blocks between the loop and
the mark are added to the loop here. The mark's operand comes from where the iteration begins, which
identifies the loop.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from metalbench.msl.ir.model import Block, Call, Function, Instruction, Phi, Terminator
from metalbench.msl.ir.text import IrError

BEGINS = "mb_vector_turn_begins"
MARK = "mb_vector_turn_ends"


class IterationEnd(NamedTuple):
    """A block that ends iterations, and the blocks in which these begin."""

    block: Block
    begins: frozenset[Block]


def take_iteration_ends(function: Function) -> list[IterationEnd]:
    """Remove the marks of iterations from a function and return them. Raises IrError."""
    blocks = {each.result: block for block, each in function.instructions if each.result}
    definitions = function.definitions()
    found, origins = [], set[str]()
    for block in function.blocks.values():
        mark = next((each for each in block.instructions if _calls(each, MARK)), None)
        if mark is not None:
            values = _list_origins(mark, definitions)
            begins = (blocks[each] for each in values if _calls(definitions[each], BEGINS))
            found.append(IterationEnd(block, frozenset(begins)))
            origins |= values
            _remove_mark(function, block, mark)
    for block in function.blocks.values():
        block.instructions = [
            each
            for each in block.instructions
            if each.result not in origins and not _calls(each, BEGINS)
        ]
    return found


def _calls(instruction: Instruction, name: str) -> bool:
    return isinstance(instruction, Call) and instruction.name == name


def _list_origins(mark: Instruction, definitions: Mapping[str, Instruction]) -> set[str]:
    """Return the values behind a mark's operand: calls that begin an iteration, and phis."""
    found: set[str] = set()
    work = list(mark.operands)
    while work:
        value = work.pop()
        if value.text in found or value.is_undefined:
            continue
        origin = definitions.get(value.text)
        if isinstance(origin, Phi):
            work += origin.operands
        elif origin is None or not _calls(origin, BEGINS):
            raise IrError(f"{value.text} does not come from the begin of an iteration")
        found.add(value.text)
    return found


def _remove_mark(function: Function, block: Block, mark: Instruction) -> None:
    """Replace the branch on a mark by a jump to its target for false."""
    branch = block.terminator
    if [each.text for each in branch.operands] != [mark.result] or branch.opcode != "br":
        raise IrError(f"the end of an iteration in {block.name} is not the end of the block")
    yes, no = branch.targets
    jump = Terminator(opcode="br", targets=(no,), place=branch.place)
    kept = [each for each in block.instructions[:-1] if each is not mark]
    block.instructions = [*kept, jump]
    block.successors = [function.blocks[no]]
    trap = function.blocks[yes]
    trap.predecessors = [each for each in trap.predecessors if each is not block]


def find_blocks_behind(end: Block, inside: Collection[Block]) -> tuple[set[Block], set[Block]]:
    """Return the blocks between a mark and the loops before it, and the last blocks of these.

    `inside` are the blocks of the loop whose iteration ends there, and of those around it. Both
    sets are empty where a path to the mark avoids these loops.
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
