"""Emit the blocks of a function: uniform branches, scalar regions, and masked blocks.

Every block is emitted without a mask, for convergent lanes. Blocks that only some lanes may reach
are emitted again with a mask: after a divergent branch lanes continue there until they
reconverge. So masks cost time only where lanes do diverge at run time.
"""

from __future__ import annotations

from collections.abc import Mapping

from metalbench.msl.analysis.bounds_guards import BoundsGuards
from metalbench.msl.analysis.divergence import Divergence, DivergentRegion
from metalbench.msl.ir.model import BasicBlock, Phi, Value
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL
from metalbench.msl.vectorize.body import Emitter
from metalbench.msl.vectorize.lane_values import LaneValue, splat
from metalbench.msl.vectorize.linearisation import (
    emit_branch,
    emit_edge_masks,
    find_masked_regions,
    find_serialized_branches,
    find_unanimous_targets,
    find_unmasked_blocks,
    hoist_divergence,
    linearise,
)
from metalbench.msl.vectorize.scalar_regions import Emit, ScalarRegions

EXIT = "end"
_MAX_LINES = 25_000  # clang takes seconds for longer functions


def emit_blocks(
    emitter: Emitter, live: str, parameters: Mapping[str, str], emit: Emit
) -> ScalarRegions:
    """Emit all blocks and the end of the function, for the lanes of the mask `live`, or for all.

    `parameters` are those of the function, with their types. `emit` emits an instruction that is
    neither a phi nor a terminator. Return the scalar regions that are called. Raise IrError.
    """
    whole = emitter.analysis.uniformity.divergence
    serialized = find_serialized_branches(whole)
    masked = find_masked_regions(emitter.flow, whole, serialized)
    regions = ScalarRegions(emitter, serialized, parameters, emit)
    _BlockEmitter(emitter, masked, regions, live, emit).emit()
    return regions


class _BlockEmitter:
    """Emits the blocks of a function.

    Each masked block has a mask in memory: the lanes that will run it. The block loads and clears
    this mask, and is skipped if it is empty. `live` is the mask of the lanes that exist; empty if
    all do.
    """

    def __init__(
        self,
        emitter: Emitter,
        divergence: Divergence,
        regions: ScalarRegions,
        live: str,
        emit: Emit,
    ) -> None:
        self._emitter = emitter
        self._ir = emitter.ir
        self._linearisation = linearise(emitter.flow, divergence)
        self._regions = regions
        self._live = live
        self._all_lanes = emitter.ir.mask_to_bits(live) if live else "-1"
        self._emit = emit
        self._mask_slots: dict[BasicBlock, str] = {}
        self._divergence = divergence
        guards = BoundsGuards(
            emitter.function, emitter.flow, emitter.analysis.uniformity, emitter.width
        )
        self._targets = find_unanimous_targets(
            emitter, divergence, regions.serialized_branches, guards
        )
        # The branch from which lanes are serialized that diverge at a later branch.
        self._hoisted = hoist_divergence(emitter, self._targets, guards)
        self._divergent_labels: dict[BasicBlock, str] = {}

    def emit(self) -> None:
        """Emit all blocks and the end of the function."""
        self._ir.branch(self._label(self._emitter.function.entry))
        for_all = find_unmasked_blocks(self._emitter, self._divergence, self._targets)
        for block in self._emitter.flow.order:
            if len(self._ir.lines) > _MAX_LINES:
                raise IrError(
                    f"the function is too long: more than {_MAX_LINES} lines of LLVM IR as vectors"
                )
            if block in for_all:
                self._emit_unmasked_block(block)
            if block in self._divergence.masked:
                self._emit_masked_block(block)
        self._ir.start_block(EXIT)
        self._ir.emit_void("ret void")

    def _label(self, block: BasicBlock, *, masked: bool = False) -> str:
        if block is self._emitter.flow.exit:
            return EXIT
        return f"{'m' if masked else 'b'}{self._emitter.flow.position[block]}"

    def _linear_label(self, block: BasicBlock) -> str:
        """Return the label of a block after masked ones: masked, or unmasked at the join."""
        return self._label(block, masked=block in self._divergence.masked)

    def _emit_unmasked_block(self, block: BasicBlock) -> None:
        """Emit a block for convergent lanes."""
        self._ir.start_block(self._label(block))
        self._emit_instructions(block, self._live)
        if block in self._emitter.analysis.uniformity.divergence.regions:
            self._emit_divergent_branch(block)
        else:
            self._emit_uniform_branch(block)

    def _emit_masked_block(self, block: BasicBlock) -> None:
        """Emit a block for the lanes of its mask."""
        ir, name, slot = self._ir, self._label(block, masked=True), self._get_mask_slot(block)
        ir.start_block(name)
        mask = ir.emit(f"load {ir.mask_type}, ptr {slot}")
        ir.emit_void(f"store {ir.mask_type} zeroinitializer, ptr {slot}")
        bits = ir.mask_to_bits(mask)
        ir.branch_if(self._emit_equal(bits, "0"), f"{name}.past", f"{name}.some")
        ir.start_block(f"{name}.some")
        if len(block.predecessors) > 1:
            ir.branch_if(self._emit_equal(bits, self._all_lanes), self._label(block), f"{name}.run")
            ir.start_block(f"{name}.run")
        self._emit_instructions(block, mask)
        for target, edge_mask in emit_edge_masks(self._emitter, block).items():
            self._emit_edge(block, target, edge_mask, only=edge_mask)
        ir.branch(f"{name}.past")
        ir.start_block(f"{name}.past")
        for at, loop in enumerate(self._linearisation.ended_loops.get(block, ())):
            waiting = ir.mask_to_bits(
                ir.emit(f"load {ir.mask_type}, ptr {self._get_mask_slot(loop.header)}")
            )
            ahead = f"{name}.out{at}"
            ir.branch_if(
                self._emit_equal(waiting, "0"), ahead, self._label(loop.header, masked=True)
            )
            ir.start_block(ahead)
        ir.branch(self._linear_label(self._linearisation.next_block[block]))

    def _emit_instructions(self, block: BasicBlock, mask: str) -> None:
        self._emitter.start_block(block, mask)
        for each in block.instructions[:-1]:
            self._emitter.set_location(each)
            if isinstance(each, Phi):
                self._emitter.load_phi(each)
            else:
                self._emit(self._emitter, each)
        self._emitter.set_location(block.terminator)

    def _emit_equal(self, one: str, other: str) -> str:
        return self._ir.emit(f"icmp eq {self._ir.bits_type} {one}, {other}")

    def _get_mask_slot(self, block: BasicBlock) -> str:
        if block not in self._mask_slots:
            self._mask_slots[block] = self._ir.alloca(self._ir.mask_type, zero=True)
        return self._mask_slots[block]

    def _emit_uniform_branch(self, block: BasicBlock) -> None:
        """Emit a terminator at which all lanes take one edge."""
        if not block.successors:
            self._ir.branch(EXIT)
        elif len(block.successors) == 1:
            self._branch_to(block, block.successors[0])
        else:
            (condition,) = block.terminator.operands
            self._emit_branch(block, self._emitter.get(condition).scalar)

    def _branch_to(self, block: BasicBlock, target: BasicBlock) -> None:
        """Emit the edge to a target that all lanes take."""
        self._emit_edge(block, target, self._live, only="")
        self._ir.branch(self._label(target))

    def _emit_branch(self, block: BasicBlock, scalar: str) -> None:
        """Emit a branch by a scalar condition of all lanes."""
        emit_branch(self._emitter, block, scalar, lambda target: self._branch_to(block, target))

    def _emit_divergent_branch(self, block: BasicBlock) -> None:
        """Emit a branch at which lanes may diverge; if they do not, all take one edge."""
        ir = self._ir
        (operand,) = block.terminator.operands
        condition = self._emitter.get(operand)
        if block in self._hoisted:
            self._divergent_labels[block] = self._divergent_labels[self._hoisted[block]]
            self._emit_unanimous_path(block, condition, self._divergent_labels[block])
            return
        divergent = self._divergent_labels[block] = ir.make_name("divergent")
        self._emit_unanimous_path(block, condition, divergent)
        ir.start_block(divergent)
        if block in self._regions.serialized_branches:
            with self._emitter.conditional_block():
                region = self._emitter.analysis.uniformity.divergence.regions[block]
                self._emit_region_call(block, region, condition)
            return
        with self._emitter.conditional_block():
            for target, edge_mask in emit_edge_masks(self._emitter, block).items():
                self._emit_edge(block, target, edge_mask, only=edge_mask)
        if block in self._divergence.masked:
            ir.branch(f"{self._label(block, masked=True)}.past")
        else:
            ir.branch(self._linear_label(self._linearisation.first_block[block]))

    def _emit_unanimous_path(self, block: BasicBlock, condition: LaneValue, divergent: str) -> None:
        """Emit a branch to the target that all lanes take, or else to the label `divergent`."""
        ir, targets = self._ir, self._targets.get(block, block.successors)
        if not targets:
            ir.branch(divergent)
            return
        if len(targets) == len(block.successors):
            is_unanimous, scalar = self._emit_unanimity_test(condition)
        else:
            is_unanimous, scalar = self._emit_target_test(block, targets[0], condition), ""
        convergent = ir.make_name("convergent")
        ir.branch_if(is_unanimous, convergent, divergent)
        ir.start_block(convergent)
        with self._emitter.conditional_block():
            if scalar:
                self._emit_branch(block, scalar)
            else:
                self._branch_to(block, targets[0])

    def _emit_region_call(
        self, block: BasicBlock, region: DivergentRegion, condition: LaneValue
    ) -> None:
        """Call the scalar region for the lanes that do not branch to the join directly."""
        if condition.ends is not None:  # rare: all lanes run the region, which avoids masks
            self._regions.call_region(region, "")
            self._ir.branch(self._label(region.join))
            return
        ir, lanes = self._ir, ""
        for target, edge_mask in emit_edge_masks(self._emitter, block).items():
            if target is region.join:
                self._assign_phis(block, target, only=edge_mask)
            else:
                lanes = ir.emit(f"or {ir.mask_type} {lanes}, {edge_mask}") if lanes else edge_mask
        if condition.type != BOOL:  # several cases of a switch may lead to the join
            some = ir.make_name("some")
            none = self._emit_equal(ir.mask_to_bits(lanes), "0")
            ir.branch_if(none, self._label(region.join), some)
            ir.start_block(some)
        self._regions.call_region(region, lanes)
        ir.branch(self._label(region.join))

    def _emit_unanimity_test(self, condition: LaneValue) -> tuple[str, str]:
        """Return whether all lanes have the same condition, and its value."""
        ir = self._ir
        if condition.ends is not None:
            first, last, holds = condition.ends
            same = ir.emit(f"icmp eq i1 {first}, {last}")
            return ir.emit(f"and i1 {same}, {holds}"), first
        vector = self._emitter.get_vector(condition)
        lanes = ir.vector_type(condition.type)
        if lanes == ir.mask_type:
            bits = ir.mask_to_bits(ir.mask_and(self._live, vector))
            all_, none = self._emit_equal(bits, self._all_lanes), self._emit_equal(bits, "0")
            return ir.emit(f"or i1 {all_}, {none}"), all_
        first = ir.first_lane(self._all_lanes) if self._live else "0"
        one = ir.emit(f"extractelement {lanes} {vector}, {ir.bits_type} {first}")
        same = ir.emit(f"icmp eq {lanes} {vector}, {splat(ir, condition.type, one)}")
        return self._emit_equal(
            ir.mask_to_bits(ir.mask_and(self._live, same)), self._all_lanes
        ), one

    def _emit_target_test(self, block: BasicBlock, target: BasicBlock, condition: LaneValue) -> str:
        """Return whether all lanes take this one of two targets."""
        ir, is_so = self._ir, block.terminator.targets[0] == target.name
        if condition.ends is None:
            bits = ir.mask_to_bits(ir.mask_and(self._live, self._emitter.get_vector(condition)))
            return self._emit_equal(bits, self._all_lanes if is_so else "0")
        first, last, holds = condition.ends
        if not is_so:
            first, last = (ir.emit(f"xor i1 {each}, true") for each in (first, last))
        both = ir.emit(f"and i1 {first}, {last}")
        return ir.emit(f"and i1 {both}, {holds}")

    def _emit_edge(self, source: BasicBlock, target: BasicBlock, mask: str, only: str) -> None:
        """Store phis and masks on an edge; `only` is its mask if lanes also take others.

        Without `only`, all lanes continue in the unmasked target.
        """
        self._assign_phis(source, target, only)
        if only and target in self._divergence.masked:
            ir, slot = self._ir, self._get_mask_slot(target)
            before = ir.emit(f"load {ir.mask_type}, ptr {slot}")
            now = ir.emit(f"or {ir.mask_type} {before}, {mask}")
            ir.emit_void(f"store {ir.mask_type} {now}, ptr {slot}")

    def _assign_phis(self, source: BasicBlock, target: BasicBlock, only: str) -> None:
        if target is not self._emitter.flow.exit:
            found: list[tuple[Phi, Value]] = [
                (phi, phi.operands[phi.sources.index(source.name)]) for phi in target.phis
            ]
            self._emitter.assign_phis(found, only)
