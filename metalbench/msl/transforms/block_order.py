"""Order the instructions of a block so that some of them stand together.

Values come before their uses. Reads and writes of memory keep their order, except among reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalbench.msl.ir.model import CallInstruction, Instruction

MATRIX_WORD = "mb_matrix_word"
_PURE_CALLS = frozenset({"mb_add_halves", "mb_add_bfloats", "mb_add_floats"})
_PURE_INTRINSICS = ("llvm.nvvm.mma.", "llvm.nvvm.read.ptx.sreg.")
_WRITING = frozenset({"store", "call", "fence", "atomicrmw", "cmpxchg", "invoke"})


class CycleError(Exception):
    """A group of instructions cannot stand together, as another one must come between them."""


def is_matrix_word(instruction: Instruction) -> bool:
    """Return whether an instruction asks for a lane's word of a matrix."""
    return isinstance(instruction, CallInstruction) and instruction.name == MATRIX_WORD


def has_side_effects(instruction: Instruction) -> bool:
    """Return whether an instruction may write memory or wait for other threads."""
    if isinstance(instruction, CallInstruction):
        name = instruction.name
        return not (name == MATRIX_WORD or name in _PURE_CALLS or name.startswith(_PURE_INTRINSICS))
    return instruction.opcode in _WRITING


def order_instructions(
    instructions: Sequence[Instruction], groups: Sequence[frozenset[int]]
) -> list[int]:
    """Return numbers of instructions and, from `len(instructions)` on, of groups, in a valid order.

    A group stands where its first instruction was, behind all that it depends on. Raises CycleError
    with the number of a group that cannot stand together.
    """
    node_of = {at: len(instructions) + i for i, group in enumerate(groups) for at in group}
    dependencies = _find_dependencies(instructions, node_of)
    placed: set[int] = set()
    order: list[int] = []
    for at in range(len(instructions)):
        _place(node_of.get(at, at), dependencies, placed, order)
    return order


def _find_dependencies(
    instructions: Sequence[Instruction], node_of: Mapping[int, int]
) -> Mapping[int, set[int]]:
    """Return the nodes that each node must stand behind."""
    dependencies: dict[int, set[int]] = {}
    definitions: dict[str, int] = {}
    last_write: int | None = None
    reads: list[int] = []
    for at, each in enumerate(instructions):
        node = node_of.get(at, at)
        needs = dependencies.setdefault(node, set())
        needs |= {definitions[name] for name in each.names if name in definitions}
        if each.result:
            definitions[each.result] = node
        if each.opcode == "load" or is_matrix_word(each):
            needs |= {last_write} if last_write is not None else set()
            reads.append(node)
        elif has_side_effects(each):
            needs |= {*reads} if last_write is None else {*reads, last_write}
            last_write, reads = node, []
    for node, needs in dependencies.items():
        needs.discard(node)
    return dependencies


def _place(
    wanted: int, dependencies: Mapping[int, set[int]], placed: set[int], order: list[int]
) -> None:
    """Append a node to the order, behind all that it depends on. Raises CycleError."""
    stack = [wanted]
    open_nodes: set[int] = set()
    while stack:
        node = stack[-1]
        if node in placed:
            stack.pop()
            continue
        missing = sorted(each for each in dependencies[node] if each not in placed)
        if not missing:
            stack.pop()
            open_nodes.discard(node)
            placed.add(node)
            order.append(node)
            continue
        if node in open_nodes and any(each in open_nodes for each in missing):
            raise CycleError(max(open_nodes))
        open_nodes.add(node)
        stack.append(missing[0])
