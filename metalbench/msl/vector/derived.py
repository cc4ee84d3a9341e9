"""Rematerialisation: compute a value again at its uses instead of storing it.

As Briggs, Cooper and Torczon do for values that are cheap to compute ("Rematerialization", PLDI
1992). An affine address whose index may wrap needs the addresses of all lanes where it does wrap.
A comparison of affine values mostly needs the first and the last lane only. Computing either
from its operands is cheaper than a stored vector.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from metalbench.msl.ir.model import Block, Compare, ElementPointer, Function, Instruction, Value
from metalbench.msl.ir.types import Int, Pointer
from metalbench.msl.vector.analysis import UniformityInfo
from metalbench.msl.vector.shapes import UNIFORM, Affine, get_stride, is_checked, to_affine

_OPCODES = ("add", "sub", "mul", "shl", "or", "zext", "sext", "trunc", "freeze", "getelementptr")
_ORDERS = ("ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge")


def select_rematerialised(
    function: Function, info: UniformityInfo, uses: MutableMapping[str, set[Block]]
) -> Mapping[str, Instruction]:
    """Return the instructions to rematerialise, by the names of their results.

    Add the uses of these instructions to the `uses` of their operands.
    """
    found: dict[str, tuple[Block, Instruction]] = {}
    for block, each in function.instructions:
        if _is_candidate(each, info) and all(
            _is_available(operand, block, info, found, uses.get(each.result, set()))
            for operand in each.operands
        ):
            found[each.result] = block, each
    for name in reversed(found):
        for operand in found[name][1].operands:
            defined = info.definitions.get(operand.text)
            if defined is not None:
                more = uses.get(name, set()) - {defined}
                if more:
                    uses.setdefault(operand.text, set()).update(more)
    return {name: each for name, (_, each) in found.items()}


def _is_candidate(instruction: Instruction, info: UniformityInfo) -> bool:
    if isinstance(instruction, Compare):
        kinds = [to_affine(info.get(each)) for each in instruction.operands]
        is_order = instruction.opcode == "icmp" and instruction.predicate in _ORDERS
        return is_order and any(isinstance(each, Affine) for each in kinds)
    whole = isinstance(instruction, ElementPointer) or isinstance(instruction.type, Int | Pointer)
    value = Value(instruction.type, instruction.result)
    return whole and instruction.opcode in _OPCODES and is_checked(info.get(value))


def _is_available(
    operand: Value,
    block: Block,
    info: UniformityInfo,
    found: Mapping[str, tuple[Block, Instruction]],
    uses: set[Block],
) -> bool:
    """Return whether an operand has the same value at all uses, and is uniform or affine."""
    defined = info.definitions.get(operand.text)
    if defined is None:
        return True
    if any(info.divergence.is_temporally_divergent(defined, use) for use in (block, *uses)):
        return False
    uniformity = info.get(operand)
    if operand.text in found:
        return True
    return uniformity is UNIFORM or (
        get_stride(uniformity) is not None and not is_checked(to_affine(uniformity))
    )
