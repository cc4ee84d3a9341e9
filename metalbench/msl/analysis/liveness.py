"""Uses of values across blocks, dependence on loads, and dead values."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from metalbench.msl.analysis.control_flow import Flow
from metalbench.msl.analysis.private_memory import ASSUME_LIKE
from metalbench.msl.analysis.uniformity import (
    UNIFORM,
    VARYING,
    Affine,
    UniformityInfo,
    get_stride,
    is_checked,
    to_affine,
)
from metalbench.msl.ir.model import (
    Alloca,
    Atomic,
    BasicBlock,
    CallInstruction,
    Compare,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Phi,
    Value,
)
from metalbench.msl.ir.types import Int, Pointer

_EFFECTS = (Alloca, Atomic, CallInstruction, Memory)
_LOADS = ("load", "atomicrmw", "cmpxchg", "call")


def find_cross_block_uses(function: Function, flow: Flow) -> dict[str, set[BasicBlock]]:
    """Return for each value the blocks that use it, other than the block that defines it.

    A phi uses an operand in the predecessor of that operand.
    """
    defined = {each.result: block for block, each in function.instructions if each.result}
    uses: dict[str, set[BasicBlock]] = {}
    for block in flow.order:
        for each in block.instructions:
            sources = each.sources if isinstance(each, Phi) else ()
            for at, operand in enumerate(each.operands):
                user = function.blocks[sources[at]] if sources else block
                if defined.get(operand.text, user) is not user:
                    uses.setdefault(operand.text, set()).add(user)
    return uses


def find_load_dependent(flow: Flow, info: UniformityInfo) -> frozenset[str]:
    """Return the varying values that depend on loads, atomics or calls."""
    found: set[str] = set()
    varying = [
        each
        for block in flow.order
        for each in block.instructions
        if each.result and info.get(Value(each.type, each.result)) is VARYING
    ]
    before = -1
    while before != len(found):
        before = len(found)
        for each in varying:
            if each.opcode in _LOADS or any(value.text in found for value in each.operands):
                found.add(each.result)
    return frozenset(found)


def find_dead_values(function: Function) -> frozenset[str]:
    """Return the values without uses, except in annotations such as `llvm.assume`.

    Results of atomics are included, although the operations themselves have effects.
    """
    users: dict[str, int] = {}
    pure: dict[str, Instruction] = {}
    for _, each in function.instructions:
        is_silent = isinstance(each, CallInstruction) and each.name.startswith(ASSUME_LIKE)
        for operand in () if is_silent else each.operands:
            users[operand.text] = users.get(operand.text, 0) + 1
        if each.result and not isinstance(each, _EFFECTS):
            pure[each.result] = each
    found: set[str] = set()
    work = [name for name in pure if not users.get(name)]
    atomics = [each.result for _, each in function.instructions if isinstance(each, Atomic)]
    found.update(name for name in atomics if name and not users.get(name))
    while work:
        name = work.pop()
        found.add(name)
        for operand in pure[name].operands:
            users[operand.text] -= 1
            if not users[operand.text] and operand.text in pure and operand.text not in found:
                work.append(operand.text)
    return frozenset(found)


def find_threadgroup_addresses(function: Function, arena: str) -> frozenset[str]:
    """Return the addresses that are known to be in the threadgroup memory that `arena` returns."""
    found: set[str] = set()
    before = -1
    while before != len(found):
        before = len(found)
        for _, each in function.instructions:
            is_whole = isinstance(each, CallInstruction) and each.name == arena
            is_part = isinstance(each, ElementPointer) and each.operands[0].text in found
            if is_whole or is_part:
                found.add(each.result)
    return frozenset(found)


# Rematerialisation: compute a value again at its uses instead of storing it.
#
# As Briggs, Cooper and Torczon do for values that are cheap to compute ("Rematerialization", PLDI
# 1992). An affine address whose index may wrap needs the addresses of all lanes where it does wrap.
# A comparison of affine values mostly needs the first and the last lane only. Computing either
# from its operands is cheaper than a stored vector.

_OPCODES = ("add", "sub", "mul", "shl", "or", "zext", "sext", "trunc", "freeze", "getelementptr")
_ORDERS = ("ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge")


def select_rematerialised(
    function: Function, info: UniformityInfo, uses: MutableMapping[str, set[BasicBlock]]
) -> Mapping[str, Instruction]:
    """Return the instructions to rematerialise, by the names of their results.

    Add the uses of these instructions to the `uses` of their operands.
    """
    found: dict[str, tuple[BasicBlock, Instruction]] = {}
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
    block: BasicBlock,
    info: UniformityInfo,
    found: Mapping[str, tuple[BasicBlock, Instruction]],
    uses: set[BasicBlock],
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
