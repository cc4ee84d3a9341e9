"""Control-flow linearisation: run the masked blocks of divergent regions in one sequence.

Partial linearisation (Moll and Hack, "Partial Control-Flow Linearization", PLDI 2018): uniform
branches stay, divergent ones disappear. The blocks between a divergent branch and its join run
in topological order. Each block runs with the mask of the lanes that reach it, and is skipped if
the mask is empty. A loop repeats while its header's mask is not empty.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from metalbench.msl.analysis.bounds_guards import BoundsGuards
from metalbench.msl.analysis.control_flow import Flow, NaturalLoop
from metalbench.msl.analysis.divergence import Divergence, DivergentRegion
from metalbench.msl.analysis.private_memory import LANES_FUNCTIONS, MEMORY_INTRINSICS
from metalbench.msl.ir.model import (
    Atomic,
    BasicBlock,
    CallInstruction,
    Instruction,
    Memory,
    Terminator,
)
from metalbench.msl.ir.text import IrError
from metalbench.msl.vectorize.body import Emitter
from metalbench.msl.vectorize.lane_values import splat
from metalbench.msl.vectorize.simd_functions import PREFIX, is_position


@dataclass(frozen=True)
class Linearisation:
    """Order of the masked blocks of a function.

    `next_block` is the successor of each masked block in its sequence; after the last block, the
    join. `ended_loops` are the loops that end with a masked block, innermost first.
    `first_block` is the first block of a sequence, by its branch if that is not masked itself.
    """

    next_block: Mapping[BasicBlock, BasicBlock]
    ended_loops: Mapping[BasicBlock, tuple[NaturalLoop, ...]]
    first_block: Mapping[BasicBlock, BasicBlock]


def linearise(flow: Flow, divergence: Divergence) -> Linearisation:
    """Order the masked blocks. Raise IrError for a sequence with several joins."""
    group_of = _group_blocks(divergence)
    members: dict[BasicBlock, list[BasicBlock]] = {}
    for block in sorted(divergence.masked, key=flow.position.__getitem__):
        members.setdefault(group_of[block], []).append(block)
    ends: dict[BasicBlock, set[BasicBlock]] = {group: set() for group in members}
    for region in divergence.regions.values():
        if region.blocks and region.join not in divergence.masked:
            ends[group_of[next(iter(region.blocks))]].add(region.join)
    after: dict[BasicBlock, BasicBlock] = {}
    for group, blocks in members.items():
        if len(ends[group]) != 1:
            names = ", ".join(sorted(each.name for each in ends[group]))
            raise IrError(
                f"lanes that diverge before {blocks[0].name} have no single join: {names or 'none'}"
            )
        (end,) = ends[group]
        after |= dict(zip(blocks, [*blocks[1:], end], strict=True))
    return Linearisation(
        after, _find_loop_ends(flow, divergence), _find_first_blocks(flow, divergence)
    )


def _group_blocks(divergence: Divergence) -> dict[BasicBlock, BasicBlock]:
    """Return for each masked block a representative of its sequence (union-find)."""
    above: dict[BasicBlock, BasicBlock] = {}

    def representative(block: BasicBlock) -> BasicBlock:
        while above.setdefault(block, block) is not block:
            block = above[block]
        return block

    for region in divergence.regions.values():
        # A branch or join inside another region belongs to the sequence of that region.
        ends = [each for each in (region.branch, region.join) if each in divergence.masked]
        first, *others = [*region.blocks, *ends] or [region.join]
        for block in others:
            above[representative(block)] = representative(first)
    return {block: representative(block) for block in divergence.masked}


def _find_loop_ends(
    flow: Flow, divergence: Divergence
) -> dict[BasicBlock, tuple[NaturalLoop, ...]]:
    last: dict[BasicBlock, tuple[NaturalLoop, ...]] = {}
    for loop in flow.loops:
        if loop.header not in divergence.masked:
            continue
        if not loop.blocks <= divergence.masked:
            raise IrError(f"the loop at {loop.header.name} is only partly masked")
        end = max(loop.blocks, key=flow.position.__getitem__)
        last[end] = (*last.get(end, ()), loop)
    return last


def _find_first_blocks(flow: Flow, divergence: Divergence) -> dict[BasicBlock, BasicBlock]:
    return {
        branch: min(region.blocks, key=flow.position.__getitem__, default=region.join)
        for branch, region in divergence.regions.items()
        if branch not in divergence.masked
    }


# Choose between serialization and masks for divergent branches; find unanimous targets.


def find_serialized_branches(divergence: Divergence) -> frozenset[BasicBlock]:
    """Return the divergent branches whose regions do not need other lanes."""
    return frozenset(
        branch
        for branch, region in divergence.regions.items()
        if not any(_is_cross_lane(each) for block in region.blocks for each in block.instructions)
    )


def find_masked_regions(
    flow: Flow, whole: Divergence, serialized: frozenset[BasicBlock]
) -> Divergence:
    """Return the regions that run with masks, and the regions inside of them."""
    masked = {
        block
        for branch, region in whole.regions.items()
        if branch not in serialized
        for block in region.blocks
    }
    regions = {
        branch: region
        for branch, region in whole.regions.items()
        if branch in masked or branch not in serialized
    }
    return Divergence(flow, regions, masked, whole.joins, whole.divergent_loops)


UnanimousTargets = Mapping[BasicBlock, tuple[BasicBlock, ...]]


def find_unanimous_targets(
    emitter: Emitter, masked: Divergence, serialized: Collection[BasicBlock], guards: BoundsGuards
) -> UnanimousTargets:
    """Return for each serialized branch the targets that all lanes may take together.

    The join is always one of them: it leaves no lane to serialize. If a region has a loop, a target
    is only left out if that is proven, because serialized loops are slow. Of a switch all targets
    or none are returned: lanes are only tested for equal numbers.
    """
    regions = emitter.analysis.uniformity.divergence.regions

    def may_go(region: DivergentRegion, target: BasicBlock) -> bool:
        proven = has_loop(emitter.flow, region)
        return target is region.join or not guards.is_never_unanimous(
            region.branch, target, proven=proven
        )

    def targets(branch: BasicBlock) -> tuple[BasicBlock, ...]:
        found = tuple(each for each in branch.successors if may_go(regions[branch], each))
        is_switch = branch.terminator.opcode == "switch"
        return tuple(branch.successors) if found and is_switch else found

    return {branch: targets(branch) for branch in serialized if branch not in masked.masked}


def has_loop(flow: Flow, region: DivergentRegion) -> bool:
    """Return whether a loop begins or continues between a region's branch and its join."""
    around = flow.loop_of.get(region.branch)
    is_header = around is not None and around.header in region.blocks
    return is_header or any(flow.loop_of.get(each) is not around for each in region.blocks)


def find_unmasked_blocks(
    emitter: Emitter, masked: Divergence, targets_of: UnanimousTargets
) -> set[BasicBlock]:
    """Return the blocks that convergent lanes may reach, and the joins."""
    regions = emitter.analysis.uniformity.divergence.regions
    work = [emitter.function.entry, *masked.masked]
    found = set(work)
    while work:
        block = work.pop()
        ahead = [*targets_of.get(block, block.successors)]
        if block in targets_of:
            ahead.append(regions[block].join)
        new = {each for each in ahead if each is not emitter.flow.exit} - found
        found |= new
        work += new
    return found


def _is_cross_lane(instruction: Instruction) -> bool:
    """Return whether an instruction needs other lanes; a fence may order their accesses."""
    if instruction.opcode == "fence":
        return True
    if not isinstance(instruction, CallInstruction):
        return False
    if LANES_FUNCTIONS.match(instruction.name):
        return True
    if not instruction.name.startswith(PREFIX):
        return False
    return not is_position(instruction.name)


# Hoist divergence to an earlier branch: lanes that diverge near a bound leave from one place.
#
# Lanes are serialized from an earlier branch, at which they were convergent. Each lane repeats the
# instructions since that branch. Several guards of one array's end then share one scalar region.

_MAX_REPEATED = 160  # instructions that each lane repeats


def hoist_divergence(
    emitter: Emitter, targets_of: UnanimousTargets, guards: BoundsGuards
) -> Mapping[BasicBlock, BasicBlock]:
    """Return the earlier branch from which lanes are serialized, for each branch that has one.

    Repeated instructions between the two branches must not have side effects.
    """
    flow, regions = emitter.flow, emitter.analysis.uniformity.divergence.regions
    found: dict[BasicBlock, BasicBlock] = {}
    candidates = [
        regions[each] for each in targets_of if _count_instructions(regions[each]) <= _MAX_REPEATED
    ]
    candidates = [each for each in candidates if not has_loop(flow, each)]
    candidates.sort(key=_count_instructions, reverse=True)
    for block in flow.order:
        if block not in targets_of or not guards.is_bounds_guard(block):
            continue
        enclosing = (
            each
            for each in candidates
            if block in each.blocks
            and flow.dominates(each.branch, block)
            and not any(
                map(_has_side_effect, _find_instructions_between(each, block, targets_of, found))
            )
        )
        outer = next(enclosing, None)
        if outer is not None:
            found[block] = outer.branch
    return found


def _count_instructions(region: DivergentRegion) -> int:
    return sum(len(each.instructions) for each in region.blocks)


def _find_instructions_between(
    region: DivergentRegion,
    block: BasicBlock,
    targets_of: UnanimousTargets,
    found: Mapping[BasicBlock, BasicBlock],
) -> Iterator[Instruction]:
    """Yield the instructions that may run between a region's branch and a block's terminator."""
    ahead: dict[BasicBlock, tuple[BasicBlock, ...]] = {}
    work = [each for each in targets_of[region.branch] if each in region.blocks]
    while work:
        each = work.pop()
        if each in ahead:
            continue
        # At other divergent branches lanes may take any edge to the join.
        taken = targets_of[each] if each in found else tuple(each.successors)
        ahead[each] = tuple(after for after in taken if after in region.blocks)
        work += ahead[each] if each is not block else ()
    leading = {block}
    before = 0
    while before != len(leading):
        before = len(leading)
        leading |= {each for each, after in ahead.items() if leading.intersection(after)}
    for each in leading:
        yield from each.instructions


def _has_side_effect(instruction: Instruction) -> bool:
    if isinstance(instruction, Memory):
        return instruction.opcode == "store" or bool(instruction.ordering) or instruction.volatile
    if isinstance(instruction, CallInstruction):
        name = instruction.name
        is_number = name.startswith("llvm.") and not name.startswith(MEMORY_INTRINSICS)
        return not is_number and not (name.startswith(PREFIX) and is_position(name))
    return isinstance(instruction, Atomic)


# Terminators: scalar branches, and the masks of all edges.


def emit_branch(
    emitter: Emitter, block: BasicBlock, scalar: str, emit_edge: Callable[[BasicBlock], None]
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


def emit_edge_masks(emitter: Emitter, block: BasicBlock) -> Mapping[BasicBlock, str]:
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


def _emit_branch_masks(emitter: Emitter, terminator: Terminator) -> dict[BasicBlock, str]:
    ir = emitter.ir
    (condition,) = terminator.operands
    yes = emitter.get_vector(emitter.get(condition))
    no = ir.emit(f"xor {ir.mask_type} {yes}, splat (i1 true)")
    first, second = (emitter.function.blocks[each] for each in terminator.targets)
    return {first: ir.mask_and(emitter.mask, yes), second: ir.mask_and(emitter.mask, no)}


def _emit_switch_masks(emitter: Emitter, terminator: Terminator) -> dict[BasicBlock, str]:
    ir = emitter.ir
    (condition,) = terminator.operands
    value, lanes = emitter.get_vector(emitter.get(condition)), ir.vector_type(condition.type)
    edges: dict[BasicBlock, str] = {}

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
