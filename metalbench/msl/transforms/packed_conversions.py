"""Round two floats to a word of two elements of 16 bits by one instruction of an NVIDIA GPU.

`cvt.rn.f16x2.f32` rounds two floats as fast as one, and its word is an operand of the tensor cores.
LLVM rounds one float at a time, which is a slow instruction, and joins the two. The new instruction
is inline assembly: the pass runs behind LLVM's passes over IR.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metalbench.msl.ir.model import BasicBlock, Function, Instruction
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.rewriter import Rewriter
from metalbench.msl.ir.types import Int

_WORD = Int(32)
_NAMES = {"half": "f16x2", "bfloat": "bf16x2"}


def pack_conversions(module: Module) -> None:
    """Replace pairs of conversions in one block whose results are one word."""
    for function in module.functions.values():
        if function.mentions("= fptrunc ") and function.mentions("= or "):
            _pack_in(function)


@dataclass(frozen=True)
class _Pair:
    """`word` consists of the results of `low` and `high`."""

    word: Instruction
    low: Instruction
    high: Instruction


def _pack_in(function: Function) -> None:
    function.name_unnamed("c")
    definitions = function.definitions()
    places = {
        each: (block, number)
        for block in function.blocks.values()
        for number, each in enumerate(block.instructions)
    }
    rewriter = Rewriter(function)
    taken: set[Instruction] = set()
    for each in places:
        pair = _find_pair(each, definitions)
        if pair is None or not taken.isdisjoint((pair.low, pair.high)):
            continue
        first, last = sorted((pair.low, pair.high), key=lambda one: places[one][1])
        if _is_used_later(function, places, first, last):
            taken |= {first, last}
            _replace(rewriter, pair, first, last)
    rewriter.apply()


def _find_pair(word: Instruction, definitions: Mapping[str, Instruction]) -> _Pair | None:
    """Return the conversions whose results an `or` joins."""
    if word.opcode != "or" or word.type != _WORD:
        return None
    found: dict[bool, Instruction] = {}
    for operand in word.operands:
        each = definitions.get(operand.text)
        is_high = each is not None and each.opcode == "shl" and each.operands[1].integer == 16
        if is_high and each is not None:
            each = definitions.get(each.operands[0].text)
        for opcode in ("zext", "bitcast", "fptrunc"):
            if each is None or each.opcode != opcode:
                return None
            if opcode != "fptrunc":
                each = definitions.get(each.operands[0].text)
        assert each is not None
        found[is_high] = each
    if len(found) != 2 or found[False] is found[True]:
        return None
    low, high = found[False], found[True]
    is_float = all(str(each.operands[0].type) == "float" for each in (low, high))
    if low.type != high.type or str(low.type) not in _NAMES or not is_float:
        return None
    return _Pair(word, low, high)


def _is_used_later(
    function: Function,
    places: Mapping[Instruction, tuple[BasicBlock, int]],
    first: Instruction,
    last: Instruction,
) -> bool:
    """Return whether both are in one block, and nothing uses the first one before the last."""
    block, end = places[last]
    if places[first][0] is not block:
        return False
    for user in function.users_of(first.result):
        at = places.get(user)
        if user.opcode != "phi" and at is not None and at[0] is block and at[1] < end:
            return False
    return True


def _replace(rewriter: Rewriter, pair: _Pair, first: Instruction, last: Instruction) -> None:
    type_ = str(pair.low.type)
    packed = f"{last.result}.packed"
    assembly = f'asm "cvt.rn.{_NAMES[type_]}.f32 $0, $1, $2;", "=r,f,f"'
    given = f"float {pair.high.operands[0].text}, float {pair.low.operands[0].text}"
    rewriter.erase(first)
    rewriter.replace(
        last,
        f"{packed} = call i32 {assembly}({given}){last.located}",
        f"{packed}.pair = bitcast i32 {packed} to <2 x {type_}>",
        f"{pair.low.result} = extractelement <2 x {type_}> {packed}.pair, i32 0",
        f"{pair.high.result} = extractelement <2 x {type_}> {packed}.pair, i32 1",
    )
    rewriter.replace(pair.word, f"{pair.word.result} = bitcast i32 {packed} to i32")
