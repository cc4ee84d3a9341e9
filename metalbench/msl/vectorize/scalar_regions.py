"""Outline divergent regions, emit them lane by lane, and merge equal functions.

A function of the source that is called twice may leave two equal scalar regions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from metalbench.msl.analysis.divergence import DivergentRegion
from metalbench.msl.analysis.uniformity import UNIFORM, VARYING, Affine, Constant
from metalbench.msl.ir.model import (
    BasicBlock,
    CallInstruction,
    Instruction,
    Phi,
    Value,
    lazy_instruction,
    rename_locals,
)
from metalbench.msl.ir.places import Places
from metalbench.msl.ir.read import lazy_function
from metalbench.msl.ir.types import Layout, Type
from metalbench.msl.vectorize.body import Emitter, emit_mask_bits
from metalbench.msl.vectorize.ir_builder import IrBuilder
from metalbench.msl.vectorize.lane_values import LaneValue
from metalbench.msl.vectorize.linearisation import emit_branch
from metalbench.msl.vectorize.live_values import (
    LiveIn,
    LiveInBuffer,
    LiveOut,
    find_live_ins,
    find_live_outs,
    find_outermost_regions,
)
from metalbench.msl.vectorize.serialize import (
    extract_affine_lane,
    for_each_lane,
    load_vector,
    store_element,
)


@dataclass
class _EmittedFunction:
    name: str
    lines: Sequence[str]
    places: Places
    form: list[object] = field(default_factory=list)


class FunctionMerger:
    """Functions that have been emitted, to be compared with new ones."""

    def __init__(self) -> None:
        self._known: dict[int, list[_EmittedFunction]] = {}

    def find_first(self, name: str, lines: Sequence[str], places: Places) -> str:
        """Return the name of the first function with equal instructions and source lines.

        `lines` begin with the head of the function, whose name and debug location are ignored.
        """
        new = _EmittedFunction(name, lines, places)
        others = self._known.setdefault(len(lines), [])
        for each in others:
            each.form = each.form or _canonicalise(each)
            new.form = new.form or _canonicalise(new)
            if each.form == new.form:
                return each.name
        others.append(new)
        return name


def _canonicalise(emitted: _EmittedFunction) -> list[object]:
    """Return head, blocks and instructions, with names replaced by their order.

    Debug locations are replaced by file and line.
    """
    function = lazy_function("\n".join(emitted.lines), Layout({}))
    head = function.head.replace(f"@{emitted.name}(", "@(")
    form: list[object] = [head.replace(f"!dbg {emitted.places.subprogram} ", "")]
    names: dict[str, str] = {}
    where: dict[str, object] = {}
    for block in function.blocks.values():
        names[block.name] = f"%{len(names)}"
        for each in block.instructions:
            if each.result:
                names[each.result] = f"%{len(names)}"
    for block in function.blocks.values():
        form.append(names[block.name])
        for each in block.instructions:
            place = each.place
            if place not in where:
                # A location without a number is that of no line.
                line = emitted.places.line_of(place)
                where[place] = place if line is None and place[1:].isdigit() else line
            text = each.text.removesuffix(each.located)
            form.append((rename_locals(text, names), where[place]))
    return form


# Scalar emitter: emits the code of one lane in a scalar region.


class ScalarEmitter(Emitter):
    """An emitter for one lane: every value is a scalar."""

    def __init__(self, vector_emitter: Emitter, ir: IrBuilder, places: Places, lane: str) -> None:
        super().__init__(vector_emitter.kernel, ir, places, vector_emitter.emit_instruction)
        self.is_scalar = True
        self._lane = lane
        self._parameters = vector_emitter.parameters

    def define_live_in(self, value: Value, scalar: str) -> None:
        """Define a live-in value of the lane."""
        self._store_slot("value", value.text, LaneValue(value.type, scalar))

    def get(self, value: Value) -> LaneValue:
        """Return an operand as a scalar."""
        if not value.is_local:
            return LaneValue(value.type, value.text)
        known = self._parameters.get(value.text) or self._values.get(value.text)
        if known is None:
            known = self._values[value.text] = self._fetch(value)
        return known

    def _fetch(self, value: Value) -> LaneValue:
        instruction = self.kernel.rematerialised.get(value.text)
        if instruction is None:
            return self._load_slot("value", value.text, value.type)
        found = self.emit_instruction(self, instruction)
        assert found is not None
        return found

    def is_constant(self, instruction: Instruction) -> bool:
        """Return False: constants are only known for all lanes together."""
        return False

    def define(self, instruction: Instruction, lanes: LaneValue) -> None:
        """Define the result of an instruction."""
        if instruction.result:
            self._values[instruction.result] = lanes
            is_derived = instruction.result in self.kernel.rematerialised
            if not is_derived and self.kernel.uses.get(instruction.result):
                self._store_slot("value", instruction.result, lanes)

    def load_phi(self, phi: Phi) -> None:
        """Define a phi by the value that the taken edge stored."""
        self.define(phi, self.load_phi_slot(phi.result, phi.type))

    def load_phi_slot(self, phi: str, type_: Type) -> LaneValue:
        """Return the value that the taken edge stored for a phi."""
        return self._load_slot("phi", phi, type_)

    def assign_phis(self, phis: Iterable[tuple[Phi, Value]], only: str) -> None:
        """Store the values of all phis on an edge, after all of them are loaded."""
        found = [(phi, self.get(value)) for phi, value in phis]
        for phi, lanes in found:
            self._store_slot("phi", phi.result, lanes)

    def emit_position(self, name: str, type_: Type) -> LaneValue:
        """Return the position of this lane's thread, by the marker's name."""
        if name in ("simdgroup", "arena"):
            return LaneValue(type_, f"%{name}")
        lane = self.ir.emit(f"trunc i64 {self._lane} to {type_}")
        if name == "lane":
            return LaneValue(type_, lane)
        if name == "index" or (name == "x" and self.launch.rows):
            return LaneValue(type_, self.ir.emit(f"add {type_} %{name}, {lane}"))
        if self.launch.rows:
            return LaneValue(type_, f"%{name}")
        first = "xyz".index(name) * self.width
        at = self.ir.emit(f"add i64 {self._lane}, {first}")
        place = self.ir.emit(f"getelementptr {type_}, ptr %positions, i64 {at}")
        return LaneValue(type_, self.ir.emit(f"load {type_}, ptr {place}, align 4"))

    def _load_slot(self, kind: str, name: str, type_: Type) -> LaneValue:
        return self.slots.load(kind, name, type_, UNIFORM)

    def _store_slot(self, kind: str, name: str, lanes: LaneValue) -> None:
        self._store_slots(kind, name, lanes, UNIFORM)


# Scalar regions: outline divergent regions, and run them lane by lane.
#
# A region has no operations that need other lanes. It is a cold function of scalar code, called
# from the divergent branch, because it rarely runs, for example at the edges of arrays. Nested
# regions share a function: it is entered at any of their branches, and left at that one's join.

Emit = Callable[[Emitter, Instruction], None]
BUFFER = "%region.buffer"  # the buffer of live-ins and live-outs
_BUFFER_ALIGNMENT = 64
_MAX_INLINED = 24  # instructions
_REGION = "mb_scalar_region."


@dataclass
class _RegionEntry:
    """A branch from which a region is entered, with its live-ins and live-outs."""

    number: int
    region: DivergentRegion
    live_outs: list[tuple[LiveOut, list[int]]]  # with the offsets of their components
    live_ins: list[tuple[Value, LiveIn]] = field(default_factory=list)
    buffer: str = BUFFER


class ScalarRegions:
    """The functions of scalar regions; `parameters` are those of the calling function."""

    def __init__(
        self,
        emitter: Emitter,
        serialized: frozenset[BasicBlock],
        parameters: Mapping[str, str],
        emit: Emit,
    ) -> None:
        self._emitter = emitter
        self._parameters = parameters
        self._emit = emit
        regions = emitter.analysis.uniformity.divergence.regions
        self._outermost = find_outermost_regions(emitter.flow, regions, serialized)
        self.serialized_branches = serialized
        self._entries: dict[DivergentRegion, list[_RegionEntry]] = {}
        self._bytes: dict[str, int] = {}

    def call_region(self, region: DivergentRegion, lanes: str) -> None:
        """Emit a call of a region for these lanes, in the block of the region's branch."""
        emitter, ir = self._emitter, self._emitter.ir
        entries_of_region = self._entries.setdefault(self._outermost[region.branch], [])
        entry = self._make_entry(len(entries_of_region), region)
        entries_of_region.append(entry)
        number = list(self._entries).index(self._outermost[region.branch])
        given = [(type_, name) for name, type_ in self._parameters.items()]
        bits = ir.mask_to_bits(lanes) if lanes else "-1"
        which = [(ir.bits_type, bits), ("i32", str(entry.number)), ("ptr", entry.buffer)]
        arguments = ", ".join(f"{type_} {value}" for type_, value in (*given, *which))
        ir.emit_void(f"call void @{_REGION}{number}({arguments})")
        saved_mask, emitter.mask = emitter.mask, lanes
        for live_out, offsets in entry.live_outs:
            emitter.store_live_out(
                live_out.kind, live_out.name, self._load_live_out(live_out, offsets, entry.buffer)
            )
        emitter.mask = saved_mask

    def _make_entry(self, number: int, region: DivergentRegion) -> _RegionEntry:
        emitter = self._emitter
        buffer = f"%{emitter.ir.make_name('region.buffer')}" if self._is_inlined(region) else BUFFER
        buffer_writer = LiveInBuffer(emitter, buffer, tuple(self._parameters))
        live_outs = [
            (
                live_out,
                [
                    buffer_writer.allocate_vector(each)
                    for each in emitter.list_components(live_out.type)
                ],
            )
            for live_out in find_live_outs(emitter, region)
        ]
        entry = _RegionEntry(number, region, live_outs, buffer=buffer)
        for value in find_live_ins(emitter, region):
            entry.live_ins.append((value, buffer_writer.store(emitter.get(value))))
        self._bytes[buffer] = max(self._bytes.get(buffer, 0), buffer_writer.bytes)
        return entry

    def _is_inlined(self, region: DivergentRegion) -> bool:
        """Return whether to inline the region: it is short, and some lanes always run it."""
        shared = list(self._outermost.values()).count(self._outermost[region.branch])
        (condition,) = region.branch.terminator.operands
        is_known = isinstance(self._emitter.analysis.uniformity.get(condition), Constant)
        length = sum(len(block.instructions) for block in region.blocks)
        return is_known and shared == 1 and length <= _MAX_INLINED

    def _load_live_out(self, live_out: LiveOut, offsets: list[int], buffer: str) -> LaneValue:
        """Return a live-out of all lanes in the representation of its uniformity."""
        emitter, type_ = self._emitter, live_out.type
        kinds = emitter.list_components(type_)
        ir, bits = emitter.ir, emitter.ir.bits_type
        vectors = tuple(
            load_vector(emitter, each, ir.emit(f"getelementptr i8, ptr {buffer}, i64 {offset}"))
            for each, offset in zip(kinds, offsets, strict=True)
        )
        uniformity = emitter.analysis.uniformity.get(Value(type_, live_out.name))
        if (
            live_out.kind == "iteration"
            or uniformity is VARYING
            or isinstance(uniformity, Constant)
        ):
            return LaneValue(type_, vectors=vectors)
        first = ir.first_lane(emit_mask_bits(emitter))
        firsts = [
            ir.emit(f"extractelement {ir.vector_type(each)} {vector}, {bits} {first}")
            for each, vector in zip(kinds, vectors, strict=True)
        ]
        scalar = emitter.build_aggregate(type_, firsts)
        if not isinstance(uniformity, Affine):
            return LaneValue(type_, scalar)
        lane = ir.emit(f"zext {bits} {first} to i64")
        zero = extract_affine_lane(emitter, LaneValue(type_, scalar, -uniformity.stride), lane)
        return LaneValue(
            type_, zero, uniformity.stride, "false" if uniformity.checked else "", vectors
        )

    def emit_functions(self, attributes: str) -> list[str]:
        """Return the text of all functions, after all calls are emitted. Allocate the buffers."""
        for buffer, size in self._bytes.items():
            room = f"[{size} x i8], align {_BUFFER_ALIGNMENT}"
            self._emitter.ir.entry.append(f"  {buffer} = alloca {room}")
        found: list[str] = []
        merger, merged = FunctionMerger(), dict[str, str]()
        for number, (region, entries) in enumerate(self._entries.items()):
            name = f"{_REGION}{number}"
            places = self._emitter.places.of_function(name)
            lines = self._emit_function(name, region, entries, attributes, places)
            first = merger.find_first(name, lines, places)
            if first == name:
                found += lines
            else:
                merged[name] = first
        if merged:
            self._redirect_calls(merged)
        return found

    def _redirect_calls(self, merged: Mapping[str, str]) -> None:
        """Redirect calls of merged functions."""
        lines = self._emitter.ir.lines
        for at, line in enumerate(lines):
            if f"@{_REGION}" in line:
                call = lazy_instruction(line)
                if isinstance(call, CallInstruction) and call.name in merged:
                    call.set_name(merged[call.name])
                    lines[at] = str(call)

    def _emit_function(
        self,
        name: str,
        region: DivergentRegion,
        entries: list[_RegionEntry],
        attributes: str,
        places: Places,
    ) -> list[str]:
        emitter, ir = self._emitter, IrBuilder(self._emitter.width)
        ir.declarations, ir.debug_location = emitter.ir.declarations, places.nowhere

        def run(lane: str) -> None:
            scalar = ScalarEmitter(emitter, ir, places, lane)
            _ScalarRegion(scalar, region, entries, lane, self._emit).emit()
            scalar.slots.check_stores()

        for_each_lane(ir, "%lanes", run)
        ir.emit_void("ret void")
        given = [f"{type_} {each}" for each, type_ in self._parameters.items()]
        given += [f"{ir.bits_type} %lanes", "i32 %branch", f"ptr {BUFFER}"]
        debug = f" !dbg {places.subprogram}" if places.subprogram else ""
        kind = "cold noinline" if entries[0].buffer == BUFFER else "alwaysinline"
        head = f"define internal void @{name}({', '.join(given)}){attributes} {kind}{debug} {{"
        return [head, "start:", *ir.entry, *ir.lines, "}"]


class _ScalarRegion:
    """Emits the code of one lane in a region's function."""

    def __init__(
        self,
        scalar: ScalarEmitter,
        region: DivergentRegion,
        entries: list[_RegionEntry],
        lane: str,
        emit: Emit,
    ) -> None:
        self._scalar = scalar
        self._ir = scalar.ir
        self._region = region
        self._entries = entries
        self._lane = lane
        self._emit = emit

    def emit(self) -> None:
        """Emit the code from the lane's branch to its join."""
        scalar, ir, rest = self._scalar, self._ir, self._entries[1:]
        if rest:
            cases = " ".join(f"i32 {each.number}, label %entry.{each.number}" for each in rest)
            ir.emit_void(f"switch i32 %branch, label %entry.0 [ {cases} ]")
        else:
            ir.branch("entry.0")
        for each in self._entries:
            ir.start_block(f"entry.{each.number}")
            for value, live_in in each.live_ins:
                scalar.define_live_in(value, live_in.load(scalar, BUFFER, self._lane))
            scalar.start_block(each.region.branch, "")
            self._emit_terminator(each.region.branch)
        joins = dict.fromkeys(each.region.join for each in self._entries)
        for block in scalar.flow.order:
            if block in self._region.blocks:
                self._emit_block(block, meets=block in joins)
        for join in joins:
            if join not in self._region.blocks:
                ir.start_block(self._label(join))
                self._emit_join(join)
        ir.start_block("done")

    def _label(self, block: BasicBlock) -> str:
        return f"b{self._scalar.flow.position.get(block, 'end')}"

    def _emit_block(self, block: BasicBlock, *, meets: bool) -> None:
        scalar, ir = self._scalar, self._ir
        ir.start_block(self._label(block))
        if meets:
            self._emit_join(block)
        scalar.start_block(block, "")
        for each in block.instructions[:-1]:
            scalar.set_location(each)
            if isinstance(each, Phi):
                scalar.load_phi(each)
            else:
                self._emit(scalar, each)
        self._emit_terminator(block)

    def _emit_join(self, join: BasicBlock) -> None:
        """End the lanes whose branch has this join. Other lanes go on if it is in the region."""
        ir = self._ir
        here = [each for each in self._entries if each.region.join is join]
        on = f"{self._label(join)}.on" if join in self._region.blocks else ""
        others = here if on else here[1:]
        cases = " ".join(f"i32 {each.number}, label %exit.{each.number}" for each in others)
        default = on or f"exit.{here[0].number}"
        ir.emit_void(f"switch i32 %branch, label %{default} [ {cases} ]")
        for each in here:
            ir.start_block(f"exit.{each.number}")
            self._store_live_outs(each)
            ir.branch("done")
        if on:
            ir.start_block(on)

    def _store_live_outs(self, entry: _RegionEntry) -> None:
        """Store the live-outs of a lane in the buffer."""
        scalar, ir = self._scalar, self._ir
        scalar.start_block(entry.region.join, "")
        for live_out, offsets in entry.live_outs:
            value = Value(live_out.type, live_out.name)
            is_phi = live_out.kind == "phi"
            lanes = (
                scalar.load_phi_slot(live_out.name, live_out.type) if is_phi else scalar.get(value)
            )
            kinds = scalar.list_components(live_out.type)
            parts = scalar.split_components(live_out.type, lanes.scalar)
            for kind, offset, part in zip(kinds, offsets, parts, strict=True):
                row = ir.emit(f"getelementptr i8, ptr {BUFFER}, i64 {offset}")
                store_element(scalar, kind, row, self._lane, part)

    def _emit_terminator(self, block: BasicBlock) -> None:
        """Emit the terminator of a block."""
        self._scalar.set_location(block.terminator)
        if not block.successors:
            self._branch_to(block, self._scalar.flow.exit)
        elif len(block.successors) == 1:
            self._branch_to(block, block.successors[0])
        else:
            (condition,) = block.terminator.operands
            scalar = self._scalar.get(condition).scalar
            emit_branch(self._scalar, block, scalar, lambda target: self._branch_to(block, target))

    def _branch_to(self, source: BasicBlock, target: BasicBlock) -> None:
        phis = target.phis if target.instructions else ()
        found = [(phi, phi.operands[phi.sources.index(source.name)]) for phi in phis]
        self._scalar.assign_phis(found, "")
        self._ir.branch(self._label(target))
