"""What is computed anew where it is used, instead of being kept: it follows from less.

An address that follows from lane to lane only if an index has not wrapped takes all lanes'
addresses where that is not so. A comparison of values that follow from lane to lane is one of the
first and the last lane, mostly. From what they follow from, either is had at any time.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from metalbench.msl.ir.model import Block, Compare, ElementPointer, Function, Instruction, Value
from metalbench.msl.ir.types import Int, Pointer
from metalbench.msl.vector.analysis import Shapes
from metalbench.msl.vector.shapes import UNIFORM, Linear, as_linear, is_checked, stride_of

_OPCODES = ("add", "sub", "mul", "shl", "or", "zext", "sext", "trunc", "freeze", "getelementptr")
_ORDERS = ("ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge")


def derived(
    function: Function, shapes: Shapes, uses: MutableMapping[str, set[Block]]
) -> Mapping[str, Instruction]:
    """The instructions to repeat, by what they give; `uses` are given theirs of what they take."""
    found: dict[str, tuple[Block, Instruction]] = {}
    for block, each in function.instructions:
        if _may_be(each, shapes) and all(
            _is_at_hand(operand, block, shapes, found, uses.get(each.result, set()))
            for operand in each.operands
        ):
            found[each.result] = block, each
    for name in reversed(found):
        for operand in found[name][1].operands:
            defined = shapes.definitions.get(operand.text)
            if defined is not None:
                more = uses.get(name, set()) - {defined}
                if more:
                    uses.setdefault(operand.text, set()).update(more)
    return {name: each for name, (_, each) in found.items()}


def _may_be(instruction: Instruction, shapes: Shapes) -> bool:
    if isinstance(instruction, Compare):
        kinds = [as_linear(shapes.of(each)) for each in instruction.operands]
        is_order = instruction.opcode == "icmp" and instruction.predicate in _ORDERS
        return is_order and any(isinstance(each, Linear) for each in kinds)
    whole = isinstance(instruction, ElementPointer) or isinstance(instruction.type, Int | Pointer)
    value = Value(instruction.type, instruction.result)
    return whole and instruction.opcode in _OPCODES and is_checked(shapes.of(value))


def _is_at_hand(
    operand: Value,
    block: Block,
    shapes: Shapes,
    found: Mapping[str, tuple[Block, Instruction]],
    uses: set[Block],
) -> bool:
    """Whether an operand is the same where the result is used, and one value stands for all."""
    defined = shapes.definitions.get(operand.text)
    if defined is None:
        return True
    if any(shapes.divergence.leaves_turns(defined, use) for use in (block, *uses)):
        return False
    shape = shapes.of(operand)
    if operand.text in found:
        return True
    return shape is UNIFORM or (stride_of(shape) is not None and not is_checked(as_linear(shape)))
