"""Join two bitwise operations with two constants into one `lop3` of an NVIDIA GPU.

`lop3` is any bitwise function of three words, of which one may be a constant in the instruction.
ptxas makes it of two operations with one constant, and leaves two operations with two constants as
they are. Code that converts packed numbers to floats extracts bits of a word and
sets others. It would take two instructions, and one register more.

LLVM has no intrinsic for `lop3`, so the operation becomes inline assembly. That hides it from
LLVM's own combination of instructions: the pass runs behind all of LLVM's passes over IR.
"""

from __future__ import annotations

from collections.abc import Callable

from metalbench.msl.ir.model import Function, Instruction
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.rewriter import Rewriter
from metalbench.msl.ir.types import Int

_WORD = Int(32)
_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "and": int.__and__,
    "or": int.__or__,
    "xor": int.__xor__,
}
# The three inputs in the number of a function: its bits are the results for all their values.
_FIRST, _SECOND, _THIRD = 0xF0, 0xCC, 0xAA


def join_bitwise_operations(module: Module) -> None:
    """Join each such pair, if nothing else uses the result of its first operation."""
    for function in module.functions.values():
        if sum(function.mentions(f" = {each} ") for each in _OPERATIONS):
            _join_in(function)


def _join_in(function: Function) -> None:
    rewriter = Rewriter(function)
    for block in function.blocks.values():
        # By their results, in this block: across blocks a pair would keep its input alive longer.
        waiting: dict[str, Instruction] = {}
        for each in block.instructions:
            if not _is_with_constant(each):
                continue
            first = waiting.pop(each.operands[0].text, None)
            if first is None:
                if len(function.users_of(each.result)) == 1:
                    waiting[each.result] = each
                continue
            input_, one = first.operands
            table = _OPERATIONS[first.opcode](_FIRST, _SECOND)
            table = _OPERATIONS[each.opcode](table, _THIRD)
            assembly = f'asm "lop3.b32 $0, $1, $2, $3, {table};", "=r,r,n,n"'
            given = f"{input_}, {one}, {each.operands[1]}"
            rewriter.erase(first)
            rewriter.replace(each, f"{each.result} = call i32 {assembly}({given}){each.located}")
    rewriter.apply()


def _is_with_constant(each: Instruction) -> bool:
    """Return whether an instruction is a bitwise operation on a word and a constant."""
    return (
        each.opcode in _OPERATIONS
        and each.type == _WORD
        and each.operands[0].is_local
        and each.operands[1].integer is not None
    )
