"""Terminators: scalar branches, and the masks of all edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from metalbench.msl.emission.body import Emitter
from metalbench.msl.emission.lanes import splat
from metalbench.msl.ir.model import Block, Terminator
from metalbench.msl.ir.text import IrError


def emit_branch(
    emitter: Emitter, block: Block, scalar: str, emit_edge: Callable[[Block], None]
) -> None:
    """Emit a branch by a scalar condition; `go` emits the code of the edge to each target."""
    ir, terminator = emitter.ir, block.terminator
    stem = ir.make_name("edge")
    edges = {target: f"{stem}.{at}" for at, target in enumerate(block.successors)}
    chosen = [edges[emitter.function.blocks[each]] for each in terminator.targets]
    if terminator.opcode == "br":
        ir.branch_if(scalar, *chosen)
    else:
        kind = terminator.operands[0].type
        cases = " ".join(
            f"{kind} {number}, label %{label}"
            for number, label in zip(terminator.cases, chosen[1:], strict=True)
        )
        ir.emit_void(f"switch {kind} {scalar}, label %{chosen[0]} [ {cases} ]")
    for target, label in edges.items():
        ir.start_block(label)
        with emitter.conditional_block():
            emit_edge(target)


def emit_edge_masks(emitter: Emitter, block: Block) -> Mapping[Block, str]:
    """Return the mask of the active lanes for each target. Raise IrError."""
    terminator = block.terminator
    if len(block.successors) == 1:
        return {block.successors[0]: emitter.mask}
    if terminator.opcode == "br":
        return _emit_branch_masks(emitter, terminator)
    if terminator.opcode == "switch":
        return _emit_switch_masks(emitter, terminator)
    if block.successors:
        raise IrError(f"cannot vectorize a divergent {terminator.opcode}")
    return {}


def _emit_branch_masks(emitter: Emitter, terminator: Terminator) -> dict[Block, str]:
    ir = emitter.ir
    (condition,) = terminator.operands
    yes = emitter.get_vector(emitter.get(condition))
    no = ir.emit(f"xor {ir.mask_type} {yes}, splat (i1 true)")
    first, second = (emitter.function.blocks[each] for each in terminator.targets)
    return {first: ir.mask_and(emitter.mask, yes), second: ir.mask_and(emitter.mask, no)}


def _emit_switch_masks(emitter: Emitter, terminator: Terminator) -> dict[Block, str]:
    ir = emitter.ir
    (condition,) = terminator.operands
    value, lanes = emitter.get_vector(emitter.get(condition)), ir.vector_type(condition.type)
    edges: dict[Block, str] = {}

    def add(target: str, mask: str) -> None:
        block = emitter.function.blocks[target]
        before = edges.get(block)
        edges[block] = mask if before is None else ir.emit(f"or {ir.mask_type} {before}, {mask}")

    default, *targets = terminator.targets
    rest = emitter.mask or "splat (i1 true)"
    for number, target in zip(terminator.cases, targets, strict=True):
        case = splat(ir, condition.type, str(number))
        is_it = ir.emit(f"icmp eq {lanes} {value}, {case}")
        add(target, ir.mask_and(emitter.mask, is_it))
        rest = ir.mask_and(rest, ir.emit(f"xor {ir.mask_type} {is_it}, splat (i1 true)"))
    add(default, rest)
    return edges
